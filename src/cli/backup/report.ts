/** What a check of a store found, as text (D46). */
import { printableLines } from "../../core/terminal-text.ts";
import { fieldList, shortTime } from "../table.ts";
import type { KeyPlace, StoreReport } from "../../stores.ts";
import type { Archive } from "./archive.ts";
import { bytesText } from "./transfer-bar.ts";

/** The key of commands: from the environment, else a key file. */
export function keyPlace(file: string): KeyPlace {
	const { SLUICE_SECRET: secret, SLUICE_SECRET_PREVIOUS: previousSecret } = process.env;
	return { secret: secret || undefined, previousSecret: previousSecret || undefined, file };
}

function keySentence(key: StoreReport["key"], { secret, file }: KeyPlace): string {
	const given = secret === undefined ? file : "SLUICE_SECRET";
	switch (key) {
		case "fits":
			return `${given} fits`;
		case "wrong":
			return `${given} is not the key of this store`;
		case "missing":
			return `not checked: there is no ${file}, and SLUICE_SECRET is not set`;
		case "unused":
			return "not needed yet";
	}
}

/** Problems, notes and a summary. `archive`: of a backup. */
export function reportText(
	name: string,
	{ report, archive, key }: { report: StoreReport; archive?: Archive; key: KeyPlace },
): string {
	const { problems, notes, summary } = report;
	const head =
		problems.length > 0
			? `${name} is not sound:\n${problems.map((each) => `- ${each}\n`).join("")}`
			: `${name} is sound.\n`;
	const states = Object.entries(summary?.byState ?? {}).map(([state, jobs]) => `${jobs} ${state}`);
	const fields: [string, string | undefined][] = [
		["made", archive && `${shortTime(archive.info.madeAt)} by Sluice ${archive.info.sluice}`],
		["schema", summary && `migration ${summary.migration}`],
		["jobs", summary && [`${summary.jobs}`, ...states].join(", ")],
		["endpoints", summary && (summary.endpoints.join(", ") || "none")],
		["keys", summary && String(summary.keys)],
		["webhooks", summary && `${summary.deliveries}, ${summary.pendingDeliveries} pending`],
		["stored", summary && bytesText(summary.storedBytes)],
		["key", summary && keySentence(report.key, key)],
	];
	const known = fields.filter(([, value]) => value !== undefined);
	const text = head + notes.map((note) => `${note}\n`).join("");
	return printableLines(text) + (known.length > 0 ? fieldList(known) : "");
}
