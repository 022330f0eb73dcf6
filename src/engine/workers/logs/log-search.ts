/** Lines in all kept logs of an endpoint's launched workers, running or ended (D47). */
import type { WorkerLogs } from "../../../launchers/launcher.ts";
import { isWorkerOf } from "../launch/worker-spec.ts";
import { entryOf, type LogEntry, tailFrom } from "./worker-logs.ts";

const LINE_CHARACTERS = 2000;

export interface FoundLine extends LogEntry {
	worker: string;
}

export interface LogSearch {
	endpoint: string;
	/** Ignores case; empty: the last lines. */
	search: string;
	worker?: string | undefined;
	job?: string | undefined;
	limit: number;
	left: AbortSignal;
}

/** The newest first; `more`: there are others. */
export async function searchLogs(logs: WorkerLogs, q: LogSearch): Promise<ReturnType<typeof newest>> {
	const needle = q.search.toLowerCase();
	const workers = (await logs.list()).filter(
		(id) => isWorkerOf(q.endpoint, id) && (q.worker === undefined || q.worker === id),
	);
	const fits = ({ text, job }: LogEntry): boolean =>
		(q.job === undefined || q.job === job) && text.toLowerCase().includes(needle);
	const found: FoundLine[] = [];
	for (const worker of workers) {
		// Lines of workers that wrote later are newer, except for lines of the same time.
		if (q.left.aborted || found.length > q.limit) break;
		let hits: FoundLine[] = [];
		for (let at = await beginOf(logs, { ...q, worker }); !q.left.aborted; ) {
			const part = await logs.read({ workerId: worker, from: at, whole: true });
			if (!part || part.lines.length === 0) break;
			for (const entry of part.lines.map(entryOf))
				if (fits(entry)) hits.push({ worker, ...entry, text: entry.text.slice(0, LINE_CHARACTERS) });
			if (hits.length > 4 * q.limit) hits = hits.slice(-q.limit - 1);
			at = part.next;
			if (part.end) break;
		}
		found.push(...hits.slice(-q.limit - 1).toReversed());
	}
	return newest(found, q.limit);
}

async function beginOf(logs: WorkerLogs, q: LogSearch & { worker: string }): Promise<number> {
	const extent = q.search === "" ? await logs.extent(q.worker) : undefined;
	return extent ? await tailFrom(logs, { ...q, tail: q.limit + 1 }, extent) : 0;
}

/** Lines without a time are the oldest. */
export function newest(found: readonly FoundLine[], limit: number): { lines: FoundLine[]; more: boolean } {
	const lines = found.toSorted((a, b) => {
		const [first = "", second = ""] = [a.time, b.time];
		if (first !== second) return first < second ? 1 : -1;
		return a.worker === b.worker ? b.position - a.position : 0;
	});
	return { lines: lines.slice(0, limit), more: lines.length > limit };
}
