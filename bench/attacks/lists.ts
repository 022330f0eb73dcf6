/**
 * `/runsync` of one endpoint with its own key, without and during reads and bulk calls over 16
 * connections of another key, in turns; the store has 200,000 jobs of another endpoint. Prints JSON:
 * `kept` is what remains of the rate. `node bench/attacks/lists.ts [CHECKOUT] [seconds] [pattern]
 * [store]`, CHECKOUT built, `pattern` selects attacks by name, `store` is an empty one.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Submission } from "../../src/kernel/core/jobs/job.ts";
import type * as Stores from "../../src/kernel/stores.ts";
import { systemClock } from "../../src/kernel/system/clock.ts";
import { BLOCK_BYTES } from "../../src/kernel/lib/json/json-text.ts";
import { machine, median } from "../machine.ts";
import type * as Processes from "../processes.ts";
import { shoot, type Shot } from "../wrk.ts";

const [checkout = ".", seconds = "2", pattern = ".", address] = process.argv.slice(2);
const from = async <T>(path: string): Promise<T> =>
	(await import(pathToFileURL(join(resolve(checkout), path)).href)) as T;
const { KEY, end, startService, startWorker } = await from<typeof Processes>("bench/processes.ts");
const { openStore } = await from<typeof Stores>("src/kernel/stores.ts");

const CONNECTIONS = 16;
const JOBS = 200_000;
/** Jobs that still wait; the others are cancelled. */
const WAITING = 10_000;
const ENDPOINTS = 50;
const KEYS = 300;
const LARGE_BYTES = 60_000_000;
const IN_FLIGHT = 2000;
/** From the begin of an attack until it is measured, s: a budget may let more pass at first. */
const LEAD = 2;

const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));

function submission(number: number): Submission {
	return {
		id: `0190a0b0-0000-7000-8000-${number.toString(16).padStart(12, "0")}`,
		endpoint: "big",
		operation: "run",
		lowPriority: false,
		ttlMs: 86_400_000,
		executionTimeoutMs: 600_000,
		leaseMs: 20_000,
		retainMs: 86_400_000,
		recordMs: 604_800_000,
	};
}

/** A JSON string in blocks. */
function largeText(): Uint8Array[] {
	const text = Buffer.from(`"${"x".repeat(LARGE_BYTES)}"`);
	const blocks: Uint8Array[] = [];
	for (let at = 0; at < text.length; at += BLOCK_BYTES)
		blocks.push(new Uint8Array(text.subarray(at, at + BLOCK_BYTES)));
	return blocks;
}

/** Fills the store before the service opens it; the id of a job with a large output. */
async function fill(): Promise<string> {
	const opened = await openStore({
		address: address ? { kind: "postgres", url: address } : { kind: "sqlite", path: join(folder, "sluice.db") },
		clock: systemClock,
	});
	const now = Date.now();
	const [endpoint, worker] = ["big", "worker-0001"];
	await opened.jobs.insert({ submission: submission(0), input: "{}", now });
	await opened.jobs.claim({ endpoint, worker, limit: 1, maxBytes: 100, now });
	await opened.jobs.report({
		endpoint,
		id: submission(0).id,
		worker,
		outcome: { on: "complete", output: largeText() },
		now,
	});
	for (let done = 1; done < JOBS; done += IN_FLIGHT)
		await Promise.all(
			Array.from({ length: IN_FLIGHT }, (_, each) =>
				opened.jobs.insert({ submission: submission(done + each), input: "{}", now }),
			),
		);
	for (let left = JOBS - WAITING; left > 0; left -= IN_FLIGHT)
		await opened.jobs.cancelAll({ endpoint, limit: IN_FLIGHT, now });
	await opened.close();
	return submission(0).id;
}

async function post(path: string, body: object): Promise<Record<string, string>> {
	const answer = await fetch(`${service.url}${path}`, {
		method: "POST",
		headers: { authorization: `Bearer ${KEY}` },
		body: JSON.stringify(body),
	});
	if (!answer.ok) throw new Error(`${path} was answered ${answer.status}: ${await answer.text()}`);
	return (await answer.json()) as Record<string, string>;
}

const keyOf = async (scope: string): Promise<string> =>
	(await post("/v1/keys", { name: scope, scopes: [scope] }))["key"]!;

/** Endpoints, keys, and a worker that has written much. */
async function setUp(): Promise<string> {
	// What it prints is its log; it never calls.
	const command = ["sh", "-c", "seq 1000000 1100000; exec sleep 100000"];
	await post("/v1/endpoints", {
		id: "big",
		launcher: { type: "process", command },
		limits: "off",
		workersMin: 1,
		workersMax: 1,
		stopGraceMs: 0,
	});
	for (let count = 0; count < ENDPOINTS; count += 1)
		await post("/v1/endpoints", { id: `other${count}`, launcher: { type: "external" } });
	for (let count = 0; count < KEYS; count += 1) await post("/v1/keys", { name: `key ${count}`, scopes: ["read"] });
	const { workers } = (await (
		await fetch(`${service.url}/v1/endpoints/big/workers`, {
			headers: { authorization: `Bearer ${KEY}` },
		})
	).json()) as { workers: { id: string }[] };
	return workers[0]!.id;
}

/** Open connections of the live feed, which are read. */
async function feeds(key: string): Promise<() => void> {
	const left = new AbortController();
	for (let count = 0; count < CONNECTIONS; count += 1) {
		const answer = await fetch(`${service.url}/v1/feed?interval=1`, {
			headers: { authorization: `Bearer ${key}` },
			signal: left.signal,
		});
		void answer.text().catch(() => {});
	}
	return () => left.abort();
}

const large = await fill();
const service = await startService(folder, address ? { store: address } : {});
const worker = await startWorker(service.url);
try {
	const logged = await setUp();
	const keys = { read: await keyOf("read"), write: await keyOf("write"), admin: KEY };
	const victim = { url: `${service.url}/v2/noop/runsync`, body: '{"input":{}}' };
	const runsync = async (): Promise<number> =>
		(
			await shoot(
				{ ...victim, headers: { Authorization: `Bearer ${own}` } },
				{ connections: 32, seconds: Number(seconds) },
			)
		).perSecond;
	const own = await keyOf("write");
	const day = 86_400_000;
	const ago = (ms: number): string => new Date(Date.now() - ms).toISOString();
	const get = (path: string, key: string = keys.read): Shot => ({
		url: service.url + path,
		headers: { Authorization: `Bearer ${key}` },
	});
	const bulk = (path: string, body: object): Shot => ({
		...get(path, keys.write),
		body: JSON.stringify(body),
	});
	const jobs = "/v1/endpoints/big/jobs";
	const nothing = { filter: { worker: "none" } };
	const attacks: Record<string, Shot | "feed"> = {
		"jobs, none match": get(`${jobs}?worker=none`),
		"jobs by status": get(`${jobs}?status=CANCELLED&limit=100`),
		"jobs by time": get(`${jobs}?from=${ago(2 * day)}&to=${ago(day)}`),
		requests: get("/v2/big/requests"),
		endpoints: get("/v1/endpoints"),
		workers: get("/v1/endpoints/big/workers"),
		"job details": get(`${jobs}/${large}`),
		"large status": get(`/v2/big/status/${large}`),
		webhooks: get("/v1/webhooks"),
		"bulk cancel, none match": bulk(`${jobs}/cancel`, nothing),
		"bulk retry, none match": bulk(`${jobs}/retry`, nothing),
		"bulk cancel, dry": bulk(`${jobs}/cancel`, { dryRun: true }),
		"endpoint metrics": get(`/v1/endpoints/big/metrics?from=${ago(day)}&step=60000`),
		"/metrics": get("/metrics"),
		"/openapi.json": get("/openapi.json"),
		"/docs": get("/docs"),
		logs: get(`/v1/endpoints/big/workers/${logged}/logs?tail=10000`, keys.admin),
		feed: "feed",
		keys: get("/v1/keys", keys.admin),
		audit: get("/v1/audit", keys.admin),
		servers: get("/v1/servers", keys.admin),
	};
	const load = { connections: CONNECTIONS, seconds: LEAD + Number(seconds) };
	for (let warm = 0; warm < 3; warm += 1) await runsync();
	const found = [];
	let before = await runsync();
	for (const [name, shot] of Object.entries(attacks)) {
		if (!new RegExp(pattern).test(name)) continue;
		const stop = shot === "feed" ? await feeds(keys.read) : undefined;
		const attacking = shot === "feed" ? undefined : shoot(shot, load);
		await new Promise((resolve) => setTimeout(resolve, LEAD * 1000));
		const attacked = await runsync();
		const attack = await attacking;
		stop?.();
		const after = await runsync();
		const kept = Number((attacked / ((before + after) / 2)).toFixed(2));
		found.push({ name, kept, before, attacked, after, attack });
		before = after;
	}
	const lowest = found.toSorted((a, b) => a.kept - b.kept)[0];
	const summary = {
		bench: "attacks/lists",
		...machine(),
		checkoutCommit: execFileSync("git", ["-C", checkout, "rev-parse", "--short", "HEAD"], {
			encoding: "utf8",
		}).trim(),
		store: address ? "PostgreSQL" : "SQLite",
		jobs: JOBS,
		lowest: lowest && { name: lowest.name, kept: lowest.kept },
		medianKept: median(found.map(({ kept }) => kept)),
		found,
	};
	process.stdout.write(`${JSON.stringify(summary, null, 2)}\n`);
} finally {
	await end(worker);
	await end(service.child, "SIGINT");
	rmSync(folder, { recursive: true, force: true });
}
