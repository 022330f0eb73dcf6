/**
 * An upgrade of a PostgreSQL store with a million waiting jobs while the service runs: a server of an earlier version
 * fills it and goes on running jobs; a server of this version starts beside it and migrates the database. Prints how
 * long that takes, what the jobs of both notice, and a start without migrations. `node bench/upgrade.ts --checkout
 * FOLDER [--jobs 1000000]`, after `npm run build` here and in FOLDER, a checkout of the earlier version; needs `wrk`.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Client } from "pg";
import { startDatabase } from "./cluster/database.ts";
import { flushTimes, machine, spread } from "./machine.ts";
import { end, KEY, startService, startWorker } from "./processes.ts";
import { shoot } from "./wrk.ts";

const { values } = parseArgs({
	options: { checkout: { type: "string" }, jobs: { type: "string", default: "1000000" } },
});
if (!values.checkout) throw new Error("--checkout FOLDER of the earlier version is missing.");
const { checkout } = values;
const jobs = Number(values.jobs);
/** Between two jobs of a caller, ms, and how long both servers are measured before and after, ms. */
const PAUSE_MS = 10;
const WINDOW_MS = 5000;

const headers = { "Content-Type": "application/json", Authorization: `Bearer ${KEY}` };
const body = JSON.stringify({ input: { prompt: "x".repeat(170) } });
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const database = await startDatabase();
const { name, url: store } = await database.create();
const external = { launcher: { type: "external" }, limits: "off" };
const file = { endpoints: { noop: external, waiting: external } };
let homes = 0;

function start(more: { checkout?: string } = {}) {
	const home = join(folder, String((homes += 1)));
	mkdirSync(home);
	return startService(home, { store, file, ...more });
}

/** Runs jobs one after another until its end; their times, ms, and what was not completed. */
function caller(url: string) {
	const times: number[] = [];
	const failed: string[] = [];
	let over = false;
	const running = (async () => {
		while (!over) {
			const began = performance.now();
			const answer = await fetch(`${url}/v2/noop/runsync`, { method: "POST", headers, body });
			const text = await answer.text();
			times.push(performance.now() - began);
			if (!text.includes("COMPLETED")) failed.push(`${answer.status}: ${text.slice(0, 200)}`);
			await sleep(PAUSE_MS);
		}
	})();
	return {
		failed,
		/** Those since the last call. */
		shown: () => {
			const some = times.splice(0);
			return { jobs: some.length, ms: spread(some) };
		},
		async end() {
			over = true;
			await running;
		},
	};
}

async function migrations(): Promise<number[]> {
	const client = new Client(database.adminUrl(name));
	await client.connect();
	const { rows } = await client.query<{ number: number }>("SELECT number FROM migrations ORDER BY number");
	await client.end();
	return rows.map(({ number }) => number);
}

const children = [];
try {
	const old = await start({ checkout });
	children.push(old.child, await startWorker(old.url));
	let submitted = 0;
	while (submitted < jobs) {
		const shot = { url: `${old.url}/v2/waiting/run`, body, headers };
		const { perSecond, refused } = await shoot(shot, { connections: 64, seconds: 5 });
		if (refused > 0) throw new Error(`${refused} submissions were refused.`);
		submitted += perSecond * 5;
		console.error(`${submitted} jobs, ${perSecond}/s`);
	}
	const first = caller(old.url);
	await sleep(WINDOW_MS);
	const before = first.shown();
	const had = await migrations();
	const began = performance.now();
	const fresh = await start();
	const startMs = Math.round(performance.now() - began);
	const during = first.shown();
	const has = await migrations();
	children.push(fresh.child, await startWorker(fresh.url));
	const second = caller(fresh.url);
	first.shown();
	await sleep(WINDOW_MS);
	const after = { old: first.shown(), new: second.shown() };
	await Promise.all([first.end(), second.end()]);
	const again = performance.now();
	children.push((await start()).child);
	const result = {
		bench: "upgrade",
		...machine(),
		flushMs: flushTimes(folder),
		postgres: database.facts,
		waiting: submitted,
		migrations: has.filter((number) => !had.includes(number)),
		startMs,
		startWithoutMigrationsMs: Math.round(performance.now() - again),
		runsync: { before, during, after },
		failed: [...first.failed, ...second.failed],
	};
	process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
	for (const child of children.toReversed()) await end(child);
	await database.stop();
	rmSync(folder, { recursive: true, force: true });
}
