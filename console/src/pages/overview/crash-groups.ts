/** Workers that ended in the same way, as one. */
import type { EndedWorker } from "../../client/shapes.ts";

export interface EndedRow extends EndedWorker {
	endpoint: string;
}

export interface EndedGroup {
	/** The last one. */
	newest: EndedRow;
	/** All, the last one first. */
	workers: readonly EndedRow[];
	/** When the first of them ended, ISO 8601. */
	since: string;
}

/** `rows`: the last one first. Ordered by the last of each group. */
export function endedGroups(rows: readonly EndedRow[]): readonly EndedGroup[] {
	const groups = new Map<string, EndedRow[]>();
	for (const row of rows) {
		const key = [row.endpoint, row.code, row.message, row.lastLine, row.launcher].join("\n");
		const group = groups.get(key);
		if (group) group.push(row);
		else groups.set(key, [row]);
	}
	return [...groups.values()].map((workers) => ({ newest: workers[0]!, workers, since: workers.at(-1)!.endedAt }));
}
