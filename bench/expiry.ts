/**
 * What the expiry of results costs `/runsync`: lots of finished jobs become due one after another;
 * in turn `/runsync` runs before and after the time at which a lot does. `node bench/expiry.ts [jobs
 * of a lot] [lots] [seconds]`, after `npm run build`; two minutes. Needs `wrk`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqlite } from "../src/kernel/store/sqlite/open.ts";
import type { Store } from "../src/kernel/store/contract/store.ts";
import { flushTimes, machine, spread } from "./machine.ts";
import { KEY, end, startService, startWorker } from "./processes.ts";
import { shoot } from "./wrk.ts";

const size = Number(process.argv[2] ?? 20_000);
const lots = Number(process.argv[3] ?? 5);
const seconds = Number(process.argv[4] ?? 4);
/** Between two lots: both runs, and the rest of the expiry. */
const PERIOD_MS = 2 * seconds * 1000 + 8000;
/** From the start of the service to the first lot. */
const STARTING_MS = 20_000;
const GROUP = 64;
const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const path = join(folder, "sluice.db");
const text = JSON.stringify({ prompt: "x".repeat(187) });
const headers = { "Content-Type": "application/json", Authorization: `Bearer ${KEY}` };
const body = JSON.stringify({ input: { prompt: "x".repeat(170) } });

/** Jobs that are completed at `now`, and whose results expire `retainMs` later. */
async function finish(store: Store, jobs: number, q: { now: number; retainMs: number }) {
	const { now, retainMs } = q;
	const worker = "worker-0001";
	for (let left = jobs; left > 0; left -= GROUP) {
		const group = Math.min(left, GROUP);
		const terms = {
			endpoint: "noop",
			operation: "run" as const,
			lowPriority: false,
			ttlMs: 86_400_000,
			executionTimeoutMs: 600_000,
			leaseMs: 20_000,
			retainMs,
			recordMs: 604_800_000,
		};
		const inserts = Array.from({ length: group }, () =>
			store.jobs.insert({ submission: { id: crypto.randomUUID(), ...terms }, input: text, now }),
		);
		const claim = store.jobs.claim({
			endpoint: "noop",
			worker,
			limit: group,
			maxBytes: 20_000_000,
			now,
		});
		await Promise.all(inserts);
		const outcome = { on: "complete" as const, output: text };
		await Promise.all(
			(await claim).jobs.map(({ job: { id, endpoint } }) => store.jobs.report({ endpoint, id, worker, outcome, now })),
		);
	}
}

/** Fills the file. Returns when the first lot is due. */
async function fill(): Promise<number> {
	const store = await openSqlite({ path });
	// A sample for the time that the rest will take; it does not expire here.
	const sample = Math.min(size, 5000);
	const began = performance.now();
	await finish(store, sample, { now: Date.now(), retainMs: 3_600_000 });
	const lotMs = ((performance.now() - began) / sample) * size;
	const firstAt = Date.now() + 1.5 * lots * lotMs + STARTING_MS;
	for (let lot = 0; lot < lots; lot += 1) {
		const now = Date.now();
		await finish(store, size, { now, retainMs: Math.round(firstAt + lot * PERIOD_MS - now) });
	}
	await store.close();
	return firstAt;
}

const until = (at: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, at - Date.now()));

let service: Awaited<ReturnType<typeof startService>> | undefined;
try {
	const firstAt = await fill();
	service = await startService(folder, {
		endpoint: { retention: { run: 3_600_000, runsync: 3_600_000, records: 604_800_000 } },
	});
	const worker = await startWorker(service.url);
	const shot = { url: `${service.url}/v2/noop/runsync`, body, headers };
	const warm = Math.floor((firstAt - Date.now()) / 1000) - 2 * seconds - 1;
	if (warm < 1) throw new Error("The jobs took longer to prepare than expected; run it again.");
	await shoot(shot, { connections: 64, seconds: Math.min(warm, 8) });
	const [before, during]: [number[], number[]] = [[], []];
	const [beforeP99, besideP99]: [number[], number[]] = [[], []];
	for (let lot = 0; lot < lots; lot += 1) {
		const dueAt = firstAt + lot * PERIOD_MS;
		await until(dueAt - seconds * 1000 - 500);
		const quiet = await shoot(shot, { connections: 64, seconds });
		await until(dueAt);
		const load = await shoot(shot, { connections: 64, seconds });
		before.push(quiet.perSecond);
		during.push(load.perSecond);
		beforeP99.push(quiet.p99);
		besideP99.push(load.p99);
	}
	await end(worker);
	// What was done of the last lot by now shows the pace.
	await end(service.child, "SIGKILL");
	service = undefined;
	const db = new DatabaseSync(path);
	const { erased } = db.prepare("SELECT count(*) AS erased FROM jobs WHERE erased = 1").get() as {
		erased: number;
	};
	db.close();
	const last = erased - (lots - 1) * size;
	const result = {
		bench: "expiry",
		...machine(),
		flushMs: flushTimes(folder),
		results: size * lots,
		expiredOfLastLot: last,
		expiriesPerSecond: last >= size ? `more than ${Math.round(size / seconds)}` : last / seconds,
		runsyncPerSecond: { before: spread(before), during: spread(during) },
		p99Ms: { before: spread(beforeP99), during: spread(besideP99) },
		ratio: spread(before.map((rate, lot) => during[lot]! / rate)),
	};
	process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
	if (service) await end(service.child);
	rmSync(folder, { recursive: true, force: true });
}
