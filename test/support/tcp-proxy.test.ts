/** The proxy of fault tests, between a real client and the real server. */
import { once } from "node:events";
import { connect } from "node:net";
import { Client } from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { postgres } from "./postgres.ts";
import type { TestDatabase } from "./postgres-databases.ts";
import { tcpProxy, type TcpProxy } from "./tcp-proxy.ts";

let database: TestDatabase;
let proxy: TcpProxy;
let clients: Client[];

beforeEach(async () => {
	database = await (await postgres()).createDatabase();
	proxy = await tcpProxy(Number(new URL(database.url).port));
	clients = [];
});

afterEach(async () => {
	for (const client of clients) client.end().catch(() => {});
	proxy.close();
	await database.drop();
});

/** A client that never throws. */
async function dial(url = proxy.through(database.url)): Promise<Client> {
	const client = new Client({ connectionString: url });
	client.on("error", () => {});
	clients.push(client);
	await client.connect();
	return client;
}

/** Rows of `kept`, asked for past the proxy. */
async function kept(): Promise<number> {
	const { rows } = await (await dial(database.url)).query<{ n: number }>("select count(*)::int as n from kept");
	return rows[0]!.n;
}

/** What became of a promise after one more answer over another connection. */
async function settledBy(promise: Promise<unknown>, other: Promise<unknown>): Promise<boolean> {
	let settled = false;
	promise.then(
		() => (settled = true),
		() => (settled = true),
	);
	await other;
	return settled;
}

async function time(work: () => Promise<unknown>): Promise<number> {
	const start = performance.now();
	await work();
	return performance.now() - start;
}

const TEXT = "select repeat('a', 100000) as text";

test("passes both ways, and counts", async () => {
	const [one, two] = [await dial(), await dial()];
	const { rows } = await one.query<{ text: string }>(TEXT);
	expect(rows[0]!.text).toHaveLength(100_000);
	const big = "b".repeat(3_000_000);
	expect((await two.query<{ back: string }>("select $1::text as back", [big])).rows[0]!.back === big).toBe(true);
	expect([proxy.open, proxy.accepted]).toEqual([2, 2]);
	await one.end();
	await dial();
	expect(proxy.accepted).toBe(3);
	await expect.poll(() => proxy.open).toBe(2);
});

test("is slow each way, and pieces do not wait for each other", async () => {
	const client = await dial();
	proxy.slow({ toServerMs: 60 });
	expect(await time(() => client.query("select"))).toBeGreaterThanOrEqual(59);
	proxy.slow({ toClientMs: 60 });
	expect(await time(() => client.query("select"))).toBeGreaterThanOrEqual(59);
	proxy.slow({ toServerMs: 60, toClientMs: 60 });
	expect(await time(() => client.query("select"))).toBeGreaterThanOrEqual(119);
	proxy.slow({ toClientMs: 300 });
	// 2 MB are over 30 pieces: one after another they would take 9 s.
	expect(await time(() => client.query("select repeat('a', 2000000)"))).toBeLessThan(5000);
});

test("is silent: what was sent arrives when it passes again, in order, once", async () => {
	const client = await dial();
	await client.query("create table kept (n int)");
	proxy.silent();
	const heard = proxy.heard();
	const held = client.query("insert into kept values (1)");
	await heard;
	const socket = connect(proxy.port, "127.0.0.1");
	await once(socket, "connect");
	expect(await settledBy(held, kept())).toBe(false);
	expect(await kept()).toBe(0);
	expect(proxy.accepted).toBe(2);
	await proxy.pass();
	await held;
	expect(await kept()).toBe(1);
	socket.destroy();
});

test("cuts all connections at once; new ones pass", async () => {
	const [one, two] = [await dial(), await dial()];
	const ended = Promise.all([one, two].map((client) => new Promise((resolve) => client.once("end", resolve))));
	proxy.silent();
	const lost = one.query("select").then(
		() => "an answer",
		(error: Error) => error.message,
	);
	proxy.cut();
	expect(await lost).toMatch(/ECONNRESET|terminated/);
	await ended;
	await proxy.pass();
	await (await dial()).query("select");
});

test("cuts one connection in the middle of its answer, after so many bytes", async () => {
	const [one, two] = [await dial(), await dial()];
	await one.query("create table kept (n int)");
	const cut = proxy.cutAfter(50_000);
	await two.query("select");
	let bytes = 0;
	(one as unknown as { connection: { stream: NodeJS.EventEmitter } }).connection.stream.on(
		"data",
		(piece: Buffer) => (bytes += piece.length),
	);
	await expect(one.query(TEXT)).rejects.toThrow(/terminated/);
	await cut;
	expect(bytes).toBe(50_000);
	await two.query(TEXT);
});

test("cuts before the first byte of an answer: what was done stays done", async () => {
	const client = await dial();
	await client.query("create table kept (n int)");
	const cut = proxy.cutAfter(0);
	await expect(client.query("insert into kept values (1)")).rejects.toThrow(/terminated/);
	await cut;
	expect(await kept()).toBe(1);
});

test("refuses new connections, not the open ones, and takes them again", async () => {
	const client = await dial();
	proxy.refuse();
	await expect(dial()).rejects.toThrow("ECONNREFUSED");
	await client.query("select");
	await proxy.pass();
	await (await dial()).query("select");
	await client.query("select");
});

test("resets connections to a place where nothing listens", async () => {
	const nowhere = await tcpProxy(1);
	await expect(dial(nowhere.through(database.url))).rejects.toThrow(/ECONNRESET|terminated/);
	nowhere.close();
	await expect(dial(nowhere.through(database.url))).rejects.toThrow("ECONNREFUSED");
});
