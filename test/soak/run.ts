/**
 * `npm run soak -- [--store sqlite|postgres] [--servers N] [--minutes M] [--rate JOBS] [--seed N]
 * [--kills MINUTES] [--cycle MINUTES] [--every SECONDS] [--scale F] [--out FOLDER]`: jobs at a fixed
 * rate with faults, while memory, descriptors, files and latencies are measured. Writes into the folder
 * `samples.jsonl`, `summary.json` and `chart.svg`; ends with 1 after a violation, or when a series
 * grows. Ctrl-C ends a run early and judges it.
 */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { machine } from "../../bench/machine.ts";
import { endpointsWith, QUEUE_SLACK } from "../torture/endpoints.ts";
import { historyFile } from "../torture/history.ts";
import { postgresSite, sqliteSite } from "../torture/site.ts";
import { report } from "./report.ts";
import { RETENTION, soak } from "./soak.ts";

/** So that the folder of segments reaches its size within minutes. */
const SETTINGS = { max_wal_size: "256MB", min_wal_size: "80MB" };

const { values } = parseArgs({
	options: {
		store: { type: "string", default: "sqlite" },
		servers: { type: "string", default: "2" },
		minutes: { type: "string", default: "60" },
		rate: { type: "string" },
		seed: { type: "string", default: "1" },
		kills: { type: "string", default: "5" },
		cycle: { type: "string", default: "60" },
		every: { type: "string", default: "5" },
		scale: { type: "string", default: "0.5" },
		out: { type: "string" },
	},
});
const { store } = values;
if (store !== "sqlite" && store !== "postgres") throw new Error(`Unknown store ${store}; expected sqlite or postgres.`);
const number = (name: "servers" | "minutes" | "rate" | "seed" | "kills" | "cycle" | "every" | "scale") => {
	const value = Number(values[name]);
	const isZero = value === 0 && (name === "kills" || name === "seed");
	if (!(value > 0) && !isZero) throw new Error(`--${name} must be a number above 0.`);
	return value;
};

const out = values.out ?? mkdtempSync(join(tmpdir(), "sluice-soak-"));
mkdirSync(out, { recursive: true });
process.stderr.write(`${out}: node test/soak/report.ts ${out} ${store} judges what is there.\n`);
const samples = join(out, "samples.jsonl");
writeFileSync(samples, "");
const history = historyFile(out);
const endpoints = endpointsWith(RETENTION);
const site =
	store === "sqlite"
		? await sqliteSite(endpoints)
		: await postgresSite(endpoints, number("servers"), { settings: SETTINGS });
const stopped = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopped.abort());

const result = await soak({
	site,
	seed: number("seed"),
	ms: number("minutes") * 60_000,
	scale: number("scale"),
	killMs: number("kills") * 60_000,
	cycleMs: number("cycle") * 60_000,
	everyMs: number("every") * 1000,
	...(values.rate === undefined ? {} : { rate: number("rate") }),
	...(store === "sqlite" ? {} : { shared: { queueSlack: QUEUE_SLACK } }),
	record: (op) => history.add(op),
	sampled: (sample) => appendFileSync(samples, `${JSON.stringify(sample)}\n`),
	signal: stopped.signal,
});
const files = history.close();
const { violations, ...counts } = result;
const failed = violations.length > 0;
if (!failed) for (const file of files) rmSync(file);
const facts = {
	...machine(),
	date: new Date().toISOString().slice(0, 10),
	store,
	...(store === "postgres" ? { servers: number("servers") } : {}),
	seed: number("seed"),
	...counts,
	violations: violations.length,
	...(failed ? { history: files, first: violations.slice(0, 20) } : {}),
};
writeFileSync(join(out, "summary.json"), `${JSON.stringify(facts, undefined, "\t")}\n`);
process.stdout.write(`${JSON.stringify(facts, undefined, "\t")}\n`);
await site.end();
process.exitCode = report(out, store) && !failed ? 0 : 1;
