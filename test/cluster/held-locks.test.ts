/**
 * A session outside holds locks in the database of two servers: callers learn it in time, other
 * endpoints go on, and afterwards nothing is lost or run twice (D16, D40).
 */
import { Client } from "pg";
import { expect, it, onTestFinished } from "vitest";
import { idsOf, statusOf, submit } from "../support/sdk-worker-bench.ts";
import { call } from "../support/service.ts";
import { a, b, fresh, group, useTwoServers, worker } from "./two-servers.ts";

useTwoServers();

/** By when a client learns of it, and what a busy machine may add, ms. */
const TOLD_MS = 2000;
const BUSY_MS = 1500;
const LEASE_MS = 2000;

/** A session in a transaction. */
async function outsider(): Promise<Client> {
	const client = new Client({ connectionString: group.store });
	await client.connect();
	onTestFinished(() => client.end());
	await client.query("BEGIN");
	return client;
}

async function pidOf(client: Client): Promise<number> {
	return (await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")).rows[0]!.pid;
}

it.each(["ACCESS EXCLUSIVE", "SHARE"])(
	"D16, D40: a table is locked (%s) for longer than a lease: 503 that names the session, no job is lost",
	{ timeout: 60_000 },
	async (mode) => {
		const ep = await fresh({ leaseMs: LEASE_MS });
		const w = await worker(ep);
		const had = await submit(a.url, { input: {} }, ep);
		expect(idsOf(await w.at(a).take())).toEqual([had]);
		const client = await outsider();
		const pid = await pidOf(client);
		const outages = [a, b].map((each) => each.next("store.away"));
		const ends = [a, b].map((each) => each.next("store.back"));
		await client.query(`LOCK TABLE jobs IN ${mode} MODE`);
		const lockedAt = performance.now();
		const first = await Promise.all([a, b].map(({ url }) => call(url, `/v2/${ep}/run`, { body: { input: {} } })));
		const firstMs = performance.now() - lockedAt;
		for (const { status, headers, text } of first) {
			expect([status, headers.get("retry-after")], text).toEqual([503, "2"]);
			expect(text).toContain(`session ${pid} locks the table jobs`);
		}
		expect(firstMs).toBeLessThan(TOLD_MS + BUSY_MS);
		await Promise.all(outages);
		const done = w.at(b).done(had, { output: "held" });
		while (performance.now() - lockedAt < LEASE_MS * 2)
			expect((await call(a.url, `/v2/${ep}/status/${had}`)).status).toBe(503);
		await client.query("COMMIT");
		await Promise.all(ends);
		expect((await done).status).toBe(200);
		expect(await statusOf(a.url, had, ep)).toMatchObject({ status: "COMPLETED", output: "held" });
		const { json } = await call(b.url, `/v2/${ep}/health`);
		expect(json.jobs).toEqual({ completed: 1, failed: 0, inProgress: 0, inQueue: 0, retried: 0 });
		process.stdout.write(`${mode}: the first 503 after ${firstMs.toFixed(0)} ms\n`);
	},
);

it("D16, D40: a row is locked: what needs it is held, other endpoints go on", {
	timeout: 60_000,
}, async () => {
	const [locked, other] = [await fresh(), await fresh()];
	const w = await worker(locked);
	const had = await submit(a.url, { input: {} }, locked);
	expect(idsOf(await w.at(a).take())).toEqual([had]);
	const client = await outsider();
	await client.query("SELECT 1 FROM jobs WHERE id = $1 FOR UPDATE", [had]);
	const done = w.at(a).done(had, { output: "held" });
	const times: number[] = [];
	const began = performance.now();
	while (performance.now() - began < TOLD_MS * 2) {
		const asked = performance.now();
		await submit(a.url, { input: {} }, other);
		times.push(performance.now() - asked);
	}
	await client.query("COMMIT");
	expect((await done).status).toBe(200);
	expect(await statusOf(a.url, had, locked)).toMatchObject({ status: "COMPLETED" });
	const { json } = await call(a.url, `/v2/${locked}/health`);
	expect(json.jobs).toMatchObject({ completed: 1, retried: 0, inProgress: 0 });
	const slowest = times.toSorted((x, y) => x - y);
	expect(slowest.at(-1)).toBeLessThan(TOLD_MS + BUSY_MS);
	// One waits for the first timeout, the others for brief ones at most.
	expect(slowest.at(-2)).toBeLessThan(TOLD_MS / 2);
	process.stdout.write(
		`${times.length} submissions to another endpoint, the slowest ${slowest
			.slice(-3)
			.map((ms) => ms.toFixed(0))
			.join(", ")} ms\n`,
	);
});

it("D16, D40: the row of a waiting job is locked: polls of other endpoints get theirs, then its own gets it", {
	timeout: 60_000,
}, async () => {
	const [locked, other] = [await fresh(), await fresh()];
	const [w, free] = [await worker(locked), await worker(other)];
	const had = await submit(a.url, { input: {} }, locked);
	const client = await outsider();
	await client.query("SELECT 1 FROM jobs WHERE id = $1 FOR UPDATE", [had]);
	const taken = w.at(a).take();
	const times: number[] = [];
	const began = performance.now();
	while (performance.now() - began < TOLD_MS * 2) {
		const id = await submit(a.url, { input: {} }, other);
		const asked = performance.now();
		expect(idsOf(await free.at(a).take())).toEqual([id]);
		times.push(performance.now() - asked);
		await free.at(a).done(id, { output: "free" });
	}
	await client.query("COMMIT");
	expect(idsOf(await taken)).toEqual([had]);
	expect((await w.at(a).done(had, { output: "taken" })).status).toBe(200);
	const { json } = await call(a.url, `/v2/${locked}/health`);
	expect(json.jobs).toEqual({ completed: 1, failed: 0, inProgress: 0, inQueue: 0, retried: 0 });
	// Claims wait for no lock of a job.
	expect(Math.max(...times)).toBeLessThan(TOLD_MS / 2);
	process.stdout.write(
		`${times.length} polls of the other endpoint, the slowest ${Math.max(...times).toFixed(0)} ms; ` +
			`the locked job after ${(performance.now() - began).toFixed(0)} ms\n`,
	);
});
