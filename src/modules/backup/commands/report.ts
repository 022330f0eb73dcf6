/** The result of a check of a store, as text (D46). */
import { printableLines } from "../../../kernel/lib/terminal-text.ts";
import { fieldList, shortTime } from "../../../cli/framework/table.ts";
import type { KeyPlace, StoreReport } from "../../../kernel/stores.ts";
import type { Archive } from "./read-archive.ts";
import { bytesText } from "../../../cli/framework/progress-bar.ts";

export function reportText(
	name: string,
	{ report, archive, key }: { report: StoreReport; archive?: Archive | undefined; key: KeyPlace },
): string {
	const { problems, notes, summary } = report;
	const head =
		problems.length > 0
			? `${name} is not sound:\n${problems.map((each) => `- ${each}\n`).join("")}`
			: `${name} is sound.\n`;
	const text = head + notes.map((note) => `${note}\n`).join("");
	const made: [string, string][] = archive
		? [["made", `${shortTime(archive.info.madeAt)} by Sluice ${archive.info.sluice}`]]
		: [];
	const states = Object.entries(summary?.byState ?? {}).map(([state, jobs]) => `${jobs} ${state}`);
	const fields: [string, string][] = summary
		? [
				["schema", `migration ${summary.migration}`],
				["jobs", [`${summary.jobs}`, ...states].join(", ")],
				["endpoints", summary.endpoints.join(", ") || "none"],
				["keys", String(summary.keys)],
				["webhooks", `${summary.deliveries}, ${summary.pendingDeliveries} pending`],
				["stored", bytesText(summary.storedBytes)],
				["files", String(summary.files)],
				["key", keySentence(report.key, key)],
			]
		: [];
	return printableLines(text) + fieldList([...made, ...fields]);
}

function keySentence(key: StoreReport["key"], { secret, file }: KeyPlace): string {
	const given = secret === undefined ? file : "SLUICE_SECRET";
	return {
		fits: `${given} fits`,
		wrong: `${given} is not the key of this store`,
		missing: `not checked: there is no ${file}, and SLUICE_SECRET is not set`,
		unused: "not needed yet",
	}[key];
}
