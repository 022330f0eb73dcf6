/**
 * `node test/torture/batches/run.ts [--lines N] [--minutes M] [--every SECONDS] [--store sqlite|postgres]
 * [--servers N] [--workers N] [--seed N] [--no-worker-kills]`, after `npm run build`: runs one batch, in M minutes at
 * best, while the server that runs it is killed, and every other time a worker; then holds its files against its
 * requests and its counters. Prints JSON, and ends with 1 after a violation. Needs Linux.
 */
import { parseArgs } from "node:util";
import { machine } from "../../../bench/machine.ts";
import { startPostgres } from "../../support/postgres-server.ts";
import { campaign } from "./campaign.ts";
import { campaignSite } from "./site.ts";

const { values } = parseArgs({
	options: {
		lines: { type: "string", default: "20000" },
		minutes: { type: "string", default: "30" },
		every: { type: "string", default: "20" },
		store: { type: "string", default: "sqlite" },
		servers: { type: "string" },
		workers: { type: "string", default: "4" },
		seed: { type: "string", default: "1" },
		"worker-kills": { type: "boolean", default: true },
	},
	allowNegative: true,
});
const { store } = values;
if (store !== "sqlite" && store !== "postgres") throw new Error(`Unknown store ${store}; expected sqlite or postgres.`);
const number = (name: "lines" | "minutes" | "every" | "workers" | "seed"): number => {
	const value = Number(values[name]);
	if (value > 0) return value;
	throw new Error(`--${name} must be a number above 0.`);
};
const servers = Number(values.servers ?? (store === "postgres" ? 2 : 1));
if (store === "sqlite" && servers !== 1) throw new Error("--servers needs --store postgres.");

const [lines, minutes, every, workers] = [number("lines"), number("minutes"), number("every"), number("workers")];

/** Jobs that a worker runs at once. */
const CONCURRENCY = 8;
/** Of the time that the batch takes at best. For a part of it there is no server or no worker. */
const LIMIT = 5;
/** Between two reports, s. */
const REPORT = 30;

const requestMs = (minutes * 60_000 * workers * CONCURRENCY) / lines;
const postgres = store === "postgres" ? await startPostgres() : undefined;
const env = { REQUEST_MS: String(requestMs), CONCURRENCY: String(CONCURRENCY) };
// Then workers end too.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const site = await campaignSite({ databases: postgres, servers, workers, env });
const began = performance.now();
let reported = 0;
const { violations, ...counts } = await campaign({
	...{ site, lines, everyMs: every * 1000, seed: number("seed"), workers: values["worker-kills"] },
	limitMs: LIMIT * minutes * 60_000 + 120_000,
	progress({ status, request_counts: { completed, failed } }, kills) {
		const seconds = Math.round((performance.now() - began) / 1000);
		if (seconds < reported + REPORT) return;
		reported = seconds;
		process.stderr.write(`${seconds} s: ${status}, ${completed} answers, ${failed} failures, ${kills} kills\n`);
	},
});
const result = {
	...machine(),
	date: new Date().toISOString().slice(0, 10),
	...{ store, servers, workers, lines, minutes, every, requestMs: Math.round(requestMs), ...counts },
	violations: violations.length,
	...(violations.length > 0 && { first: violations.slice(0, 20) }),
};
process.stdout.write(`${JSON.stringify(result, undefined, "\t")}\n`);
await site.end();
await postgres?.remove();
// Connections to servers that were killed may still be open.
process.exit(violations.length > 0 ? 1 : 0);
