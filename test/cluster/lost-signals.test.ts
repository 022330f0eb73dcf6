/**
 * Signals may be lost: each server polls every 4 s. Here others change the database
 * without a word (D7, D8, D18, D29, D30).
 */
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sdkProtocol, type SdkProtocol } from "../support/sdk-protocol.ts";
import { idsOf, statusOf, stopsOf, submit, workerEnvOf } from "../support/sdk-worker-bench.ts";
import { servers, type Servers, type TestServer } from "../support/servers.ts";
import { browser } from "../spec/console/browser.ts";
import { call } from "../support/service.ts";
import { untilFits } from "../support/until.ts";

/** Longest time between two looks, and what a busy machine adds, ms. */
const SOON_MS = 8000;

let group: Servers;
let server: TestServer;
let database: Client;
let endpoints = 0;
const protocols: SdkProtocol[] = [];

beforeAll(async () => {
	group = await servers();
	server = await group.start();
	database = new Client({ connectionString: group.store });
	await database.connect();
});
afterAll(async () => {
	for (const each of protocols) each.close();
	await database?.end();
	await group?.end();
});

async function fresh(): Promise<string> {
	const id = `ep-${(endpoints += 1)}`;
	await call(server.url, "/v1/endpoints", { body: { id, launcher: { type: "external" } } });
	return id;
}

async function worker(ep: string): Promise<SdkProtocol> {
	const protocol = sdkProtocol(await workerEnvOf(server.url, ep));
	protocols.push(protocol);
	return protocol;
}

const sql = (text: string, ...values: (string | number)[]) => database.query(text, values);

/** Resolves with the answer and how long it took, ms. */
async function timed<T>(answer: Promise<T>): Promise<{ answer: T; ms: number }> {
	const began = performance.now();
	return { answer: await answer, ms: performance.now() - began };
}

/** What was asked before has read the job, and waits. */
async function looked(ep: string, id: string): Promise<void> {
	for (let n = 0; n < 3; n += 1) await statusOf(server.url, id, ep);
}

describe("at once, from the database", () => {
	/** Made by another server, whose word is lost. */
	async function madeElsewhere(like: string): Promise<string> {
		const ep = `ep-${(endpoints += 1)}`;
		await sql(
			"INSERT INTO endpoints (id, settings, created_at) SELECT $1, settings, created_at FROM endpoints WHERE id = $2",
			ep,
			like,
		);
		return ep;
	}

	it("D27: an endpoint that another server has just made is found", async () => {
		expect(await submit(server.url, { input: {} }, await madeElsewhere(await fresh()))).toBeTruthy();
	});

	it("D27: also while this server is asked for unknown ones", async () => {
		const like = await fresh();
		for (let n = 0; n < 3; n += 1) {
			const unknown = await call(server.url, `/v1/endpoints/unknown-${n}`);
			const ep = await madeElsewhere(like);
			const found = await call(server.url, `/v1/endpoints/${ep}`);
			expect([unknown.status, found.status]).toEqual([404, 200]);
		}
	});

	it("D27: a change begins with what another server has left", async () => {
		const ep = await fresh();
		await sql(`UPDATE endpoints SET settings = jsonb_set(settings::jsonb, '{name}', '"N"')::text WHERE id = $1`, ep);
		expect(
			(await call(server.url, `/v1/endpoints/${ep}`, { method: "PATCH", body: { workersMax: 7 } })).json,
		).toMatchObject({ name: "N", workersMax: 7 });
	});
});

describe.concurrent("without a signal, within some 4 s", { timeout: 30_000 }, () => {
	it("D29: an endpoint is paused", async () => {
		const ep = await fresh();
		await sql("UPDATE endpoints SET paused = true WHERE id = $1", ep);
		expect(
			(
				await untilFits(
					() => call(server.url, `/v1/endpoints/${ep}`),
					({ json }) => json.paused,
					SOON_MS,
				)
			).json.paused,
		).toBe(true);
	});

	it("D8: a wait ends with its job", async () => {
		const ep = await fresh();
		const id = await submit(server.url, { input: {} }, ep);
		const waiting = timed(call(server.url, `/v2/${ep}/status-sync/${id}?wait=60000`));
		await looked(ep, id);
		await sql(
			"UPDATE jobs SET state = 'CANCELLED', ended_at = queued_at + 1, due_at = queued_at + 600000 WHERE id = $1",
			id,
		);
		const { answer, ms } = await waiting;
		expect(answer.json).toMatchObject({ id, status: "CANCELLED" });
		expect(ms).toBeLessThan(SOON_MS);
	});

	it("D7: a stream gets its chunks", async () => {
		const ep = await fresh();
		const w = await worker(ep);
		const id = await submit(server.url, { input: {} }, ep);
		await w.take();
		const waiting = timed(call(server.url, `/v2/${ep}/stream/${id}?wait=60000`));
		await looked(ep, id);
		await sql(
			`INSERT INTO chunks (endpoint, job, number, body) VALUES ($1, $2, 0, '{"output":"x","metrics":{}}')`,
			ep,
			id,
		);
		await sql("UPDATE jobs SET next_chunk = 1 WHERE id = $1", id);
		const { answer, ms } = await waiting;
		expect(answer.json).toEqual([{ output: "x", metrics: {} }]);
		expect(ms).toBeLessThan(SOON_MS);
	});

	it("D16: a worker that waits gets a job that came back", async () => {
		const ep = await fresh();
		const [first, second] = [await worker(ep), await worker(ep)];
		const id = await submit(server.url, { input: {} }, ep);
		await first.take();
		const waiting = timed(second.take());
		await untilFits(
			async () => [...server.engine.workers.of(ep)].reduce((sum, { takes }) => sum + takes, 0),
			(takes) => takes === 1,
			SOON_MS,
		);
		await sql(
			"UPDATE jobs SET state = 'IN_QUEUE', worker = NULL, started_at = NULL, lease_until " +
				"= NULL, due_at = queued_at + ttl_ms WHERE id = $1",
			id,
		);
		await sql(
			"UPDATE queue_counts SET in_queue = in_queue + 1, in_progress = in_progress - 1 " +
				"WHERE endpoint = $1 AND slot = (SELECT min(slot) FROM queue_counts WHERE endpoint = $1)",
			ep,
		);
		const { answer, ms } = await waiting;
		expect(idsOf(answer)).toEqual([id]);
		expect(ms).toBeLessThan(SOON_MS);
	});

	it("D18: an open stop channel gets its stop", async () => {
		const ep = await fresh();
		const w = await worker(ep);
		const id = await submit(server.url, { input: {} }, ep);
		await w.take();
		const waiting = timed(w.stop());
		await untilFits(
			async () => [...server.engine.workers.of(ep)].reduce((sum, { stops }) => sum + stops, 0),
			(stops) => stops === 1,
			SOON_MS,
		);
		await sql(
			"INSERT INTO attempts SELECT endpoint, id, attempt, worker, started_at, started_at " +
				"+ 1, 'cancelled', 1, 0 FROM jobs WHERE id = $1",
			id,
		);
		await sql(
			"UPDATE jobs SET state = 'CANCELLED', ended_at = started_at + 1, lease_until = NULL, " +
				"past = true, due_at = queued_at + 600000 WHERE id = $1",
			id,
		);
		const { answer, ms } = await waiting;
		expect(stopsOf(answer)).toEqual([id]);
		expect(ms).toBeLessThan(SOON_MS);
		expect(await statusOf(server.url, id, ep)).toMatchObject({ status: "CANCELLED" });
	});
});

/** One after the other: a change of any of them lets a server read all of them again. */
describe("what is created and ended between two reads of the store", { timeout: 30_000 }, () => {
	it("D30: a revoked key is refused", async () => {
		const { json } = await call(server.url, "/v1/keys", { body: { name: "k", scopes: ["read"] } });
		expect((await call(server.url, "/v1/endpoints", { key: json.key })).status).toBe(200);
		await sql("DELETE FROM keys WHERE id = $1", json.id);
		expect(
			(
				await untilFits(
					() => call(server.url, "/v1/endpoints", { key: json.key }),
					({ status }) => status === 401,
					SOON_MS,
				)
			).status,
		).toBe(401);
	});

	it("D31: so is a session that was ended", async () => {
		const page = browser(server);
		await page.signIn();
		expect((await page.send("/v1/keys")).status).toBe(200);
		await sql("DELETE FROM sessions");
		await untilFits(
			() => page.send("/v1/keys"),
			({ status }) => status === 401,
			SOON_MS,
		);
	});

	it("D26: so is a revoked worker token", async () => {
		const ep = await fresh();
		const w = await worker(ep);
		expect((await w.ping()).status).toBe(200);
		await sql("DELETE FROM tokens WHERE endpoint = $1", ep);
		expect(
			(
				await untilFits(
					() => w.ping(),
					({ status }) => status === 401,
					SOON_MS,
				)
			).status,
		).toBe(401);
	});
});
