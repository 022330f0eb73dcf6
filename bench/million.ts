/**
 * A million waiting jobs in one endpoint: submissions a second, bytes on disk for each, resident
 * memory, from `kill -9` to the first answer, takes, the purge, and what it costs others until the
 * space is given back. `node bench/million.ts [--store sqlite|postgres] [--jobs 1000000]`, after
 * `npm run build`; two minutes on SQLite, five on PostgreSQL. Needs `wrk`.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Client } from "pg";
import { startDatabase } from "./cluster/database.ts";
import { flushTimes, machine } from "./machine.ts";
import { forgetPeak, peakMb, residentMb } from "./memory-of.ts";
import { KEY, end, startService, workerEnv } from "./processes.ts";
import { shoot } from "./wrk.ts";

const { values } = parseArgs({
	options: {
		store: { type: "string", default: "sqlite" },
		jobs: { type: "string", default: "1000000" },
	},
});
const jobs = Number(values.jobs);
const TAKES = 200;
/** The longest that giving space back may take, s. */
const LONGEST = 300;
const headers = { "Content-Type": "application/json", Authorization: `Bearer ${KEY}` };
const body = JSON.stringify({ input: { prompt: "x".repeat(170) } });
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const digits = (value: number): number => Number(value.toPrecision(3));

/** Where the jobs are, and how many bytes they have there. */
interface Place {
	address: string | undefined;
	bytes(): Promise<number>;
	/** Printed with the result. */
	facts: Record<string, unknown>;
	stop(): Promise<void>;
}

function sqlite(folder: string): Place {
	const sizeOf = (name: string): number => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0;
	return {
		address: undefined,
		bytes: async () => readdirSync(folder).reduce((sum, name) => sum + sizeOf(name), 0),
		facts: {},
		stop: async () => {},
	};
}

async function postgres(): Promise<Place> {
	const database = await startDatabase();
	const { name, url } = await database.create();
	const admin = new Client(database.adminUrl(name));
	await admin.connect();
	return {
		address: url,
		async bytes() {
			const { rows } = await admin.query("SELECT pg_database_size(current_database())::float8 AS n");
			return (rows[0] as { n: number }).n;
		},
		facts: database.facts,
		async stop() {
			await admin.end();
			await database.stop();
		},
	};
}

/** Repeats a call until `over`, one at a time; the times that it took, ms. */
async function timed(call: () => Promise<unknown>, over: () => boolean): Promise<number[]> {
	const times: number[] = [];
	while (!over()) {
		const began = performance.now();
		await call();
		times.push(performance.now() - began);
	}
	return times;
}

function percentiles(times: number[]): { p50: number; p99: number; longest: number } {
	times.sort((a, b) => a - b);
	const at = (part: number): number => digits(times[Math.floor((times.length - 1) * part)]!);
	return { p50: at(0.5), p99: at(0.99), longest: at(1) };
}

const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const place = values.store === "postgres" ? await postgres() : sqlite(folder);
const start = () => startService(folder, place.address ? { store: place.address } : {});
let service = await start();

async function post(path: string): Promise<unknown> {
	const answer = await fetch(`${service.url}${path}`, { method: "POST", headers, body });
	if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}: ${await answer.text()}`);
	return answer.json();
}

try {
	const pid = service.child.pid!;
	const [idleMb, emptyBytes] = [residentMb(pid), await place.bytes()];
	forgetPeak(pid);
	let submitted = 0;
	const began = performance.now();
	while (submitted < jobs) {
		const shot = { url: `${service.url}/v2/noop/run`, body, headers };
		const { perSecond, refused } = await shoot(shot, { connections: 64, seconds: 5 });
		if (refused > 0) throw new Error(`${refused} submissions were refused.`);
		submitted += perSecond * 5;
		console.error(`${submitted} jobs, ${perSecond}/s`);
	}
	const perSecond = Math.round((submitted / (performance.now() - began)) * 1000);
	const bytesPerJob = Math.round(((await place.bytes()) - emptyBytes) / submitted);
	const submittingMb = peakMb(pid);

	await end(service.child, "SIGKILL");
	const killed = performance.now();
	service = await start();
	const listeningMs = Math.round(performance.now() - killed);
	await post("/v2/noop/run");
	const firstAnswerMs = Math.round(performance.now() - killed);

	const env = await workerEnv(service.url);
	const { RUNPOD_POD_ID: worker = "", RUNPOD_AI_API_KEY: authorization = "" } = env;
	const named = (name: string, job = ""): string =>
		env[name]!.replaceAll("$RUNPOD_POD_ID", worker).replaceAll("$ID", job);
	const takes: number[] = [];
	for (let take = 0; take < TAKES; take += 1) {
		const asked = performance.now();
		const answer = await fetch(`${named("RUNPOD_WEBHOOK_GET_JOB", worker)}&job_in_progress=0`, {
			headers: { authorization },
		});
		const { id } = (await answer.json()) as { id: string };
		takes.push(performance.now() - asked);
		const done = `${named("RUNPOD_WEBHOOK_POST_OUTPUT", id)}&isStream=false`;
		await (await fetch(done, { method: "POST", headers: { authorization }, body: '{"output":1}' })).arrayBuffer();
	}
	const firstTakeMs = digits(takes[0]!);
	const afterTakesMb = residentMb(service.child.pid!);

	const fullBytes = await place.bytes();
	const asked = performance.now();
	const { removed } = (await post("/v2/noop/purge-queue")) as { removed: number };
	const purgeMs = digits(performance.now() - asked);
	// Until the size has not changed for 20 s: rows are removed, then space is given back.
	let [least, leastAt] = [fullBytes, performance.now()];
	let over = false;
	const during = timed(
		async () => {
			await post("/v2/noop/run");
			await sleep(5);
		},
		() => over,
	);
	while (performance.now() - leastAt < 20_000 + (least === fullBytes ? 60_000 : 0)) {
		await sleep(200);
		const bytes = await place.bytes();
		if (bytes < least - 1e6) [least, leastAt] = [bytes, performance.now()];
		if (performance.now() - asked > LONGEST * 1000) break;
	}
	over = true;
	const besideMs = percentiles((await during).map((time) => time - 5));
	const result = {
		bench: "million",
		...machine(),
		flushMs: flushTimes(folder),
		store: values.store,
		...place.facts,
		submitted,
		perSecond,
		bytesPerJob,
		idleMb,
		submittingMb,
		restart: { listeningMs, firstAnswerMs },
		afterTakesMb,
		firstTakeMs,
		takeMs: percentiles(takes),
		purge: {
			removed,
			ms: purgeMs,
			fullMb: Math.round(fullBytes / 1e6),
			smallestMb: Math.round(least / 1e6),
			smallestAfterSeconds: digits((leastAt - asked) / 1000),
			submissionsBesideMs: besideMs,
		},
	};
	process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
	await end(service.child);
	await place.stop();
	rmSync(folder, { recursive: true, force: true });
}
