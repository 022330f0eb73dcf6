/** A server whose answer takes long: nothing between it and the service ends the request. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, Socket } from "node:net";
import { expect, it, vi } from "vitest";
import { runAdapter } from "../../../packages/worker/src/http/adapter.ts";
import { resolveMapping } from "../../../packages/worker/src/http/mapping-index.ts";
import { advanceUntil, manualClock } from "../../support/manual-clock.ts";
import { call, startService } from "../../support/service.ts";
import { over, submitted } from "./http-endpoints.ts";

const HOUR_MS = 3_600_000;

it("an answer may take as long as the job may", async ({ onTestFinished }) => {
	const setTimeouts = vi.spyOn(Socket.prototype, "setTimeout");
	const fetched = vi.spyOn(globalThis, "fetch");
	onTestFinished(() => {
		setTimeouts.mockRestore();
		fetched.mockRestore();
	});
	const asked = Promise.withResolvers<ServerResponse>();
	const server = createServer((_, response) => asked.resolve(response)).listen(0, "127.0.0.1");
	onTestFinished(() => void server.close());
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;

	const service = await startService({ endpoints: { ep: { http: "raw" } } });
	onTestFinished(() => service.end());
	const { mapping } = (await call(service.url, "/v1/endpoints/ep/http")).json;
	const read = resolveMapping({ ...mapping, port });
	if (!read.ok) throw new Error(JSON.stringify(read.faults));
	const { env } = (await call(service.url, `/v1/endpoints/ep/worker-env?url=${service.url}`, { method: "POST" })).json;

	// Of the adapter only: limits of the service are settings of the endpoint.
	const clock = manualClock();
	const stopping = new AbortController();
	let hasEnded = false;
	const adapter = runAdapter({
		...{ mapping: read.mapping, command: [], isLaunched: false, env, clock, signal: stopping.signal },
		...{ randomId: randomUUID, random: Math.random, argv: [], cwd: "/", write: () => {}, memoryBytes: () => 0 },
	}).finally(() => void (hasEnded = true));
	onTestFinished(async () => {
		stopping.abort();
		// After a failure the job is still held, and the adapter would wait for its answer.
		server.closeAllConnections();
		await advanceUntil(clock, () => hasEnded, 100);
		expect(await adapter).toBe(0);
	});

	const id = await submitted(service.url, "ep", { of: "hours" });
	const response = await asked.promise;
	await clock.advance(HOUR_MS / 10);
	await clock.leap(24 * HOUR_MS);
	expect(response.destroyed).toBe(false);
	// Timers of Node do not follow that clock, so that it must have set none for this connection, nor undici its own.
	const limits = setTimeouts.mock.contexts.flatMap((socket, at) =>
		(socket as Socket).remotePort === port ? [setTimeouts.mock.calls[at]![0]] : [],
	);
	expect(limits.filter((ms) => ms > 0)).toEqual([]);
	const addresses = fetched.mock.calls.map(([to]) => (to instanceof Request ? to.url : String(to)));
	expect(addresses.filter((address) => address.includes(`:${port}`))).toEqual([]);

	response.setHeader("content-type", "application/json").end('"late"');
	const job = await over(service.url, "ep", id);
	expect(job).toMatchObject({ status: "COMPLETED", output: "late" });
	expect(job).not.toHaveProperty("retries");
});
