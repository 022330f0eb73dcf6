import { EventEmitter, once } from "node:events";
import { type ClientRequest, createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { expect, it, onTestFinished } from "vitest";
import { budgetLimits, budgetMeters } from "../../core/budgets.ts";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import { hold } from "../memory/call-memory.ts";
import { memoryShares } from "../memory/shares.ts";
import { readBytes, readJson } from "./body.ts";
import type { Call } from "./call.ts";

const MB = 1024 * 1024;

setFlagsFromString("--expose_gc");
const collect = runInNewContext("gc") as () => void;

type Memory = Pick<Call["service"]["memory"], "take" | "give">;

interface Opened {
	body: string | Buffer;
	coding?: string;
	memory?: Memory;
	/** Sends the body; by default at once. */
	send?: (asking: ClientRequest) => void;
	now?: () => number;
}

/** A request with this body that is not answered yet. */
async function open(
	{
		body,
		coding,
		memory = { take: () => undefined, give: () => {} },
		send = (asking) => asking.end(body),
		now = () => 0,
	}: Opened,
	onTestFinished: (end: () => void) => void,
): Promise<Call> {
	const server = createServer();
	const arrived = once(server, "request") as Promise<[IncomingMessage]>;
	await once(server.listen(0, "127.0.0.1"), "listening");
	const asking = request({
		port: (server.address() as AddressInfo).port,
		host: "127.0.0.1",
		method: "POST",
		headers: coding === undefined ? {} : { "content-encoding": coding },
	});
	send(asking.on("error", () => {}));
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	const [req] = await arrived;
	return {
		req,
		res: Object.assign(new EventEmitter(), { closed: false }),
		maxBody: 10_000_000,
		identity: {},
		holds: { bytes: 0 },
		service: { memory },
		engine: { now, budgets: { readTimeout: { limit: 30_000 }, memory: { limit: 256 * MB } } },
	} as unknown as Call;
}

// A worker's post may be held for minutes while the store is unavailable (D40).
it.each<[what: string, read: (call: Call) => Promise<Uint8Array | undefined>]>([
	["bytes", readBytes],
	["JSON", async (call) => (await readJson(call, { members: [] })).blocks[0]],
])("D3: a request that is not answered yet keeps nothing of its body, read as %s", async (_, read) => {
	for (const size of [100, 1_000_000]) {
		const ends: (() => void)[] = [];
		const call = await open({ body: `"${"x".repeat(size)}"` }, (end) => ends.push(end));
		const kept = await read(call).then((body) => new WeakRef(body!));
		do {
			await new Promise((resolve) => setImmediate(resolve));
			collect();
		} while (kept.deref() !== undefined);
		expect(call.req.complete).toBe(true);
		for (const end of ends) end();
	}
});

it.each([
	["in 5 minutes is read", 300_000, undefined, "read"],
	["in longer is 408", 300_001, undefined, "request_timeout"],
	["in longer is 408, compressed too", 300_001, "gzip", "request_timeout"],
])("D41: a body that arrives %s", async (_, ms, coding, outcome) => {
	let now = 0;
	const body = coding ? gzipSync("[1]") : Buffer.from("[1]");
	let asking: ClientRequest | undefined;
	const send = (own: ClientRequest): void => void (asking = own).write(body.subarray(0, 2));
	const call = await open({ body, ...(coding && { coding }), send, now: () => now }, onTestFinished);
	const read = readBytes(call).then(
		() => "read",
		(error: { code: string }) => error.code,
	);
	while (call.req.listenerCount("data") === 0) await new Promise((resolve) => setImmediate(resolve));
	now = ms;
	asking!.end(body.subarray(2));
	expect(await read).toBe(outcome);
});

it("D3: a body that waited for memory leaves no time limit on its connection", async ({ onTestFinished }) => {
	const memory = { take: () => Promise.resolve(true), give: () => {} };
	const call = await open({ body: gzipSync("x".repeat(100_000)), coding: "gzip", memory }, onTestFinished);
	expect((await readBytes(call)).length).toBe(100_000);
	expect(call.req.socket.timeout).toBe(0);
});

/** About 100 bytes, for which a decoder allocates a window of 16 MiB. */
const BOMB = brotliCompressSync(`{"input":{"a":"${"x".repeat(16 * MB)}"}}`, {
	params: { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_QUALITY]: 5 },
});

function shares() {
	const meter = budgetMeters({ ...budgetLimits(), memory: 256 * MB }).memory;
	const clock = manualClock();
	return { meter, clock, memory: memoryShares({ meter, clock }) };
}

it("D41: windows of brotli decoders count before they are made, so 60 bodies of one key have few", async ({
	onTestFinished,
}) => {
	const { meter, memory } = shares();
	expect(BOMB.length).toBeLessThan(200);
	const calls = await Promise.all(
		Array.from({ length: 60 }, () => open({ body: BOMB, coding: "br", memory }, onTestFinished)),
	);
	let most = 0;
	const codes = await Promise.all(
		calls.map(async (call) => {
			const error: any = await readBytes(call).catch((refused: unknown) => refused);
			most = Math.max(most, meter.used);
			void hold(call, 0);
			return error.code;
		}),
	);
	expect(new Set(codes)).toEqual(new Set(["bad_encoding"]));
	expect(most).toBeGreaterThan(16 * MB);
	expect(most).toBeLessThanOrEqual(4 * 17 * MB);
	expect(meter.used).toBe(0);
});

it("D41: after a brotli body only what it contains is held", async ({ onTestFinished }) => {
	const { meter, memory } = shares();
	const call = await open({ body: brotliCompressSync("x".repeat(300_000)), coding: "br", memory }, onTestFinished);
	expect((await readBytes(call)).length).toBe(300_000);
	expect(meter.used).toBe(300_000);
});

it("D41: a brotli body whose client has left, also while it waited for memory, is not decoded", async ({
	onTestFinished,
}) => {
	const { meter, memory } = shares();
	void memory.take({ kind: "key", id: "other" }, 128 * MB, () => new AbortController().signal);
	const call = await open({ body: BOMB, coding: "br", memory }, onTestFinished);
	const refused = readBytes(call).catch((error: unknown) => error);
	Object.assign(call.res, { closed: true }).emit("close");
	expect(await refused).toMatchObject({ code: "bad_json" });
	await expect(readBytes(call)).rejects.toMatchObject({ code: "bad_json" });
	expect(meter.used).toBe(128 * MB);
});
