import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { readBytes, readJson } from "./body.ts";
import type { Call } from "./call.ts";

setFlagsFromString("--expose_gc");
const collect = runInNewContext("gc") as () => void;

/** A request with this body that is not answered yet. */
async function open(body: string, onTestFinished: (end: () => void) => void): Promise<Call> {
	const server = createServer();
	const arrived = once(server, "request") as Promise<[IncomingMessage]>;
	await once(server.listen(0, "127.0.0.1"), "listening");
	const asking = request({
		port: (server.address() as AddressInfo).port,
		host: "127.0.0.1",
		method: "POST",
	});
	asking.on("error", () => {}).end(body);
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	const [req] = await arrived;
	return {
		req,
		res: { closed: false },
		maxBody: 10_000_000,
		identity: {},
		holds: { bytes: 0 },
		service: { memory: { take: () => undefined } },
		engine: { budgets: { readTimeout: { limit: 30_000 } } },
	} as unknown as Call;
}

// A worker's post may be held for minutes while the store is unavailable (D40).
it.each<[what: string, read: (call: Call) => Promise<Uint8Array | undefined>]>([
	["bytes", readBytes],
	["JSON", async (call) => (await readJson(call, { members: [] })).blocks[0]],
])("D3: a request that is not answered yet keeps nothing of its body, read as %s", async (_, read) => {
	for (const size of [100, 1_000_000]) {
		const ends: (() => void)[] = [];
		const call = await open(`"${"x".repeat(size)}"`, (end) => ends.push(end));
		const kept = await read(call).then((body) => new WeakRef(body!));
		do {
			await new Promise((resolve) => setImmediate(resolve));
			collect();
		} while (kept.deref() !== undefined);
		expect(call.req.complete).toBe(true);
		for (const end of ends) end();
	}
});
