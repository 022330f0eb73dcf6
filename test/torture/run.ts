/**
 * `npm run torture -- [--seed N] [--minutes M] [--jobs N] [--store sqlite|postgres] [--servers N]
 * [--scale F] [--operators N] [--files N] [--objects N] [--batches N] [--responses N] [--keep FOLDER] [--failovers]
 * [--partitions] [--stops] [--skew] [--previous FOLDER] [--no-kills]`: submits jobs while processes are killed, holds
 * what clients and workers saw against the rules, and prints a summary as JSON. The history of a run with a
 * violation is kept.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { machine } from "../../bench/machine.ts";
import { ENDPOINTS, QUEUE_SLACK } from "./endpoints.ts";
import { historyFile } from "./history.ts";
import { postgresSite, sqliteSite } from "./site.ts";
import { torture } from "./torture.ts";

/** Part of the faults with `--failovers`. */
const FAILOVERS = 0.6;

/** Faults of a minute are followed late by others. */
const AUDIT_AFTER_MS = 45_000;

const { values } = parseArgs({
	options: {
		seed: { type: "string", default: "1" },
		minutes: { type: "string", default: "5" },
		jobs: { type: "string" },
		store: { type: "string", default: "sqlite" },
		servers: { type: "string", default: "2" },
		failovers: { type: "boolean", default: false },
		scale: { type: "string", default: "1" },
		operators: { type: "string", default: "4" },
		files: { type: "string", default: "4" },
		objects: { type: "string", default: "4" },
		batches: { type: "string", default: "4" },
		responses: { type: "string", default: "4" },
		keep: { type: "string", default: tmpdir() },
		partitions: { type: "boolean", default: false },
		stops: { type: "boolean", default: false },
		skew: { type: "boolean", default: false },
		previous: { type: "string" },
		kills: { type: "boolean", default: true },
	},
	allowNegative: true,
});
const [seed, minutes, servers] = [values.seed, values.minutes, values.servers].map(Number) as [number, number, number];
if (!Number.isSafeInteger(seed) || !(minutes > 0) || !(servers >= 1))
	throw new Error("--seed and --servers must be whole numbers, --minutes a number above 0.");
if (values.store !== "sqlite" && values.store !== "postgres")
	throw new Error(`Unknown store ${values.store}; expected sqlite or postgres.`);
if (values.failovers && values.store !== "postgres") throw new Error("--failovers needs --store postgres.");

mkdirSync(values.keep, { recursive: true });
const folder = mkdtempSync(join(values.keep, "sluice-torture-"));
const history = historyFile(folder);
const { kills, partitions, stops, skew, previous } = values;
const site =
	values.store === "sqlite"
		? await sqliteSite(ENDPOINTS)
		: await postgresSite(ENDPOINTS, servers, {
				...{ kills, partitions, stops, skew },
				failovers: values.failovers ? FAILOVERS : 0,
				previous: previous === undefined ? undefined : resolve(previous, "bin/sluice.js"),
			});
const began = performance.now();
const result = await torture({
	site,
	seed,
	ms: minutes * 60_000,
	...(values.jobs === undefined ? {} : { jobs: Number(values.jobs) }),
	scale: Number(values.scale),
	operators: Number(values.operators),
	files: Number(values.files),
	// A server of an earlier version has no objects, and takes batches and responses for requests for its workers.
	objects: previous === undefined ? Number(values.objects) : 0,
	batches: previous === undefined ? Number(values.batches) : 0,
	responses: previous === undefined ? Number(values.responses) : 0,
	workerStops: stops,
	...(stops ? { auditAfterMs: AUDIT_AFTER_MS } : {}),
	...(values.store === "sqlite" ? {} : { shared: { queueSlack: QUEUE_SLACK } }),
	record: (op) => history.add(op),
	progress(acknowledged, faults) {
		const seconds = Math.round((performance.now() - began) / 1000);
		process.stderr.write(`${seconds} s: ${acknowledged} jobs acknowledged, ${faults} faults\n`);
	},
});
const files = history.close();
const { violations, ...counts } = result;
const failed = violations.length > 0;
process.stdout.write(
	`${JSON.stringify(
		{
			...machine(),
			date: new Date().toISOString().slice(0, 10),
			seed,
			store: values.store,
			...(values.store === "postgres" ? { servers } : {}),
			...counts,
			jobsPerMinute: Math.round((counts.acknowledged / counts.seconds) * 60),
			violations: violations.length,
			...(failed ? { history: files, first: violations.slice(0, 20) } : {}),
		},
		undefined,
		"\t",
	)}\n`,
);
if (!failed) rmSync(folder, { recursive: true });
await site.end();
// Connections that a partition held may still be open.
process.exit(failed ? 1 : 0);
