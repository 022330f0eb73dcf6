import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import {
	answerWith,
	httpServer,
	type Received,
	tcpServer,
	type TestServer,
} from "../../../../test/support/worker-kit/http-servers.ts";
import { mappingOf } from "../../../../test/support/worker-kit/mapping.ts";
import { scriptedService, type ScriptedService } from "../../../../test/support/worker-kit/scripted-service.ts";
import { type Clock, systemClock } from "../clock.ts";
import { runAdapter } from "./adapter.ts";
import { sleepServer, wakeServer } from "./server/sleep.ts";
import { workerFiles } from "./server/worker-files.ts";

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
	for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function serving(
	answer: (request: Received, response: ServerResponse) => void,
	port?: number,
): Promise<TestServer> {
	const server = await httpServer(answer, port);
	cleanups.push(() => server.close());
	return server;
}

async function service(): Promise<ScriptedService> {
	const scripted = await scriptedService();
	cleanups.push(() => scripted.down());
	return scripted;
}

function adapterOf(
	scripted: ScriptedService,
	mapping: object,
	{
		isLaunched = true,
		memoryBytes = () => 0,
		folder = mkdtempSync(join(tmpdir(), "sluice-test-")),
		clock = systemClock,
		exitMs = 0,
	}: { isLaunched?: boolean; memoryBytes?: () => number; folder?: string; clock?: Clock; exitMs?: number } = {},
) {
	const lines: string[] = [];
	const stopping = new AbortController();
	const exit = runAdapter({
		mapping: mappingOf(mapping),
		command: [],
		isLaunched,
		env: scripted.env(),
		randomId: randomUUID,
		signal: stopping.signal,
		folder,
		clock,
		exitMs,
		random: () => 0.5,
		argv: [],
		cwd: "/",
		write: (line) => void lines.push(line),
		memoryBytes,
	});
	const stop = async (): Promise<number> => {
		stopping.abort();
		return await exit;
	};
	cleanups.push(async () => {
		await stop();
		expect(readdirSync(folder)).toEqual([]);
		rmSync(folder, { recursive: true });
	});
	return { exit, lines, stop, folder };
}

describe("the adapter", () => {
	it("pings and takes only when the server is ready, and returns the output of jobs", async () => {
		const scripted = await service();
		scripted.give({ id: "a", input: { n: 1 } }, { id: "b", input: { n: 2 } });
		let probes = 0;
		const server = await serving((request, response) => {
			if (request.url === "/health") {
				probes += 1;
				// A slow machine makes a worker idle for 10 s, which asks again.
				if (probes <= 3) expect(scripted.seen).toEqual([]);
				response.writeHead(probes < 3 ? 503 : 200).end();
			} else response.setHeader("content-type", "application/json").end(`{"echo":${request.body.toString()}}`);
		});
		const { stop } = adapterOf(scripted, { port: server.port, ready: { path: "/health", everyMs: 10 } });
		await scripted.until((one) => one.route === "job-done", 2);
		expect(scripted.results()).toEqual(['{"output":{"echo":{"n":1}}}', '{"output":{"echo":{"n":2}}}']);
		expect(await stop()).toBe(0);
		expect(probes).toBeGreaterThan(2);
	});

	it("does not believe that the server sleeps because an earlier worker left it so", async () => {
		const scripted = await service();
		const folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
		const files = workerFiles("w-1", folder);
		files.setAsleep(true);
		const server = await serving((_request, response) => response.end());
		adapterOf(scripted, { port: server.port }, { folder });
		await scripted.until((one) => one.route === "job-take");
		expect(files.isAsleep()).toBe(false);
	});

	it("stops while it waits for the server", async () => {
		const scripted = await service();
		const server = await serving((_request, response) => response.writeHead(503).end());
		const { stop } = adapterOf(scripted, { port: server.port, ready: { path: "/" } });
		expect(await stop()).toBe(0);
		expect(scripted.seen).toEqual([]);
	});

	it("takes as many jobs at a time as concurrency says", async () => {
		const scripted = await service();
		const open: ServerResponse[] = [];
		const all = Promise.withResolvers<void>();
		const server = await serving((_request, response) => {
			const count = open.push(response);
			if (count === 3) all.resolve();
			if (count > 3) response.end();
		});
		scripted.give(...[1, 2, 3, 4].map((n) => ({ id: `j${n}`, input: n })));
		adapterOf(scripted, { port: server.port, concurrency: 3 });
		await all.promise;
		expect([open.length, scripted.queue.length]).toEqual([3, 1]);
		for (const response of open) response.end();
		await scripted.until((one) => one.route === "job-done", 4);
	});

	it("takes one job at a time while it has much memory", async () => {
		const scripted = await service();
		const open: ServerResponse[] = [];
		const first = Promise.withResolvers<void>();
		const server = await serving((_request, response) => {
			open.push(response);
			first.resolve();
		});
		scripted.give({ id: "a", input: 1 });
		let asks = 0;
		const asked = Promise.withResolvers<void>();
		const memoryBytes = (): number => {
			asks += 1;
			if (asks === 2) asked.resolve();
			return 300 * 1_048_576;
		};
		adapterOf(scripted, { port: server.port, concurrency: 3 }, { memoryBytes });
		await first.promise;
		scripted.give({ id: "b", input: 2 });
		await asked.promise;
		expect([open.length, scripted.queue.length]).toEqual([1, 1]);
		open[0]!.end();
		await scripted.until((one) => one.route === "job-done");
		await until(() => open.length === 2);
		open[1]!.end();
	});

	it("streams chunks, and the output that the mapping says", async () => {
		const scripted = await service();
		const server = await serving((_request, response) =>
			response.writeHead(200, { "content-type": "text/event-stream" }).end('data: {"t":"a"}\n\ndata: {"t":"b"}\n\n'),
		);
		scripted.give({ id: "a", input: { stream: true } });
		adapterOf(scripted, { port: server.port, stream: { as: "sse", at: "/t", output: "text" } });
		await scripted.until((one) => one.route === "job-done");
		expect(scripted.of("job-stream").map(({ body }) => body)).toEqual(['{"output":"a"}', '{"output":"b"}']);
		expect(scripted.results()).toEqual(['{"output":"ab"}']);
	});

	it("returns a job that the server did not get without a loss, and with one if it may have begun", async () => {
		const scripted = await service();
		scripted.script = ({ route }, response) => {
			if (route.startsWith("job-take")) response.setHeader("sluice-job-return", "1");
		};
		const server = await tcpServer(answerWith("", (socket) => socket.resetAndDestroy()));
		adapterOf(scripted, { port: server.port, ready: { everyMs: 10 } });
		scripted.give({ id: "a", input: 1 });
		await scripted.until((one) => one.route === "job-done");
		await scripted.until((one) => one.route === "job-take", 2);
		await server.close();
		scripted.give({ id: "b", input: 1 });
		await scripted.until((one) => one.route === "job-done", 2);
		expect(scripted.results().map((each) => JSON.parse(each).return)).toEqual([
			{ reason: "read ECONNRESET", loss: true },
			{ reason: expect.stringContaining("cannot be reached: connect ECONNREFUSED"), loss: false },
		]);
	});

	it("takes nothing for 1 s after it returned a job of a busy server", async () => {
		const scripted = await service();
		scripted.script = ({ route }, response) => {
			if (route.startsWith("job-take")) response.setHeader("sluice-job-return", "1");
		};
		let now = 1_000_000;
		let checks = 0;
		const clock: Clock = {
			now: () => now,
			sleep(ms, signal) {
				// The interval in which the kit asks for the concurrency.
				if (ms === 1000) checks += 1;
				return systemClock.sleep(Math.min(ms, 5), signal);
			},
		};
		const server = await serving((_request, response) => response.writeHead(429).end());
		adapterOf(scripted, { port: server.port, errors: { busyMs: 1000 } }, { clock });
		scripted.give({ id: "a", input: 1 }, { id: "b", input: 1 });
		await scripted.until((one) => one.route === "job-done");
		checks = 0;
		// The report of the job is confirmed within the first of them, and a slot is free from then on.
		await until(() => checks > 50);
		expect([scripted.of("job-take").length, scripted.queue.length]).toEqual([1, 1]);
		now += 1000;
		await scripted.until((one) => one.route === "job-take", 2);
	});

	/** A job whose server ends the connection and is not ready then. `waiting`: until the adapter waits `exitMs`. */
	async function broken(isLaunched: boolean) {
		const scripted = await service();
		scripted.script = ({ route }, response) => {
			if (route.startsWith("job-take")) response.setHeader("sluice-job-return", "1");
		};
		const wait = Promise.withResolvers<void>();
		const waiting = Promise.withResolvers<void>();
		const clock: Clock = {
			...systemClock,
			sleep(ms, signal) {
				if (ms !== 77_777) return systemClock.sleep(ms, signal);
				waiting.resolve();
				return wait.promise;
			},
		};
		let isBroken = false;
		const server = await serving(({ url }, response) => {
			if (url === "/health") return response.writeHead(isBroken ? 500 : 200).end();
			isBroken = true;
			return response.socket!.destroy();
		});
		const ready = { path: "/health", lostAfterMs: 60_000 };
		const adapter = adapterOf(scripted, { port: server.port, ready }, { isLaunched, clock, exitMs: 77_777 });
		scripted.give({ id: "a", input: 1 });
		return { scripted, wait, waiting: waiting.promise, ...adapter };
	}

	it("waits for the end of a server that the launcher has started, before it reports a loss", async () => {
		const { scripted, wait, waiting } = await broken(true);
		await waiting;
		expect(scripted.of("job-done")).toEqual([]);
		wait.resolve();
		const { body } = await scripted.until((one) => one.route === "job-done");
		expect(JSON.parse(body).return).toMatchObject({ loss: true });
	});

	it("reports no loss if the launcher ends it with its server", async () => {
		const { scripted, wait, waiting, exit, stop } = await broken(true);
		await waiting;
		void stop();
		wait.resolve();
		expect(await exit).toBe(69);
		expect(scripted.of("job-done")).toEqual([]);
	});

	it("does not wait for the end of a server that runs elsewhere", async () => {
		const { scripted } = await broken(false);
		const { body } = await scripted.until((one) => one.route === "job-done");
		expect(JSON.parse(body).return).toMatchObject({ loss: true });
	});

	it("a launched worker whose server is lost exits with 69", async () => {
		const scripted = await service();
		const server = await serving((_request, response) => response.end());
		const { exit, lines } = adapterOf(scripted, {
			port: server.port,
			ready: { path: "/", lostAfterMs: 0, everyMs: 10 },
		});
		await scripted.until((one) => one.route === "job-take");
		await server.close();
		scripted.give({ id: "a", input: 1 });
		expect(await exit).toBe(69);
		expect(lines.join("")).toContain("was not ready for 0 ms");
	});

	it("an external worker stops taking and pinging, waits, and takes again", async () => {
		const scripted = await service();
		const server = await serving((_request, response) => response.end());
		adapterOf(
			scripted,
			{ port: server.port, ready: { path: "/", lostAfterMs: 0, everyMs: 10 } },
			{ isLaunched: false },
		);
		await scripted.until((one) => one.route === "job-take");
		await server.close();
		scripted.give({ id: "a", input: 1 });
		await scripted.until((one) => one.route === "job-done");
		await until(() => scripted.openTakes() === 0);
		scripted.give({ id: "b", input: 1 });
		await serving((_request, response) => response.setHeader("content-type", "text/plain").end("again"), server.port);
		await scripted.until((one) => one.route === "job-done" && one.body.includes("again"));
	});
});

describe("sleep", () => {
	it("calls the server until the condition holds; the adapter asks nothing while it sleeps", async () => {
		const files = workerFiles("w", mkdtempSync(join(tmpdir(), "sluice-test-")));
		cleanups.push(() => files.remove());
		let asks = 0;
		let sleeping = false;
		const server = await serving(({ url, method, headers }, response) => {
			expect(headers["authorization"]).toBe("Bearer t");
			if (method === "POST") sleeping = url === "/sleep?level=1";
			asks += 1;
			const holds = asks > 3 && sleeping;
			response.setHeader("content-type", "application/json").end(JSON.stringify({ is_sleeping: holds }));
		});
		const until = (value: boolean) => ({ path: "/is_sleeping", at: "/is_sleeping", in: [value] });
		const mapping = mappingOf({
			port: server.port,
			ready: { everyMs: 10 },
			request: { headers: { authorization: "Bearer {env.TOKEN}" } },
			sleep: { path: "/sleep?level=1", until: until(true) },
			wake: { path: "/wake_up", until: until(false) },
		});
		const options = { mapping, env: { TOKEN: "t" }, files, clock: systemClock, randomId: randomUUID };
		await sleepServer(options);
		expect([files.isAsleep(), sleeping, asks]).toEqual([true, true, 4]);
		await wakeServer(options);
		expect([files.isAsleep(), sleeping]).toEqual([false, false]);
	});

	it("fails with a sentence, and is not asleep then", async () => {
		const files = workerFiles("w", mkdtempSync(join(tmpdir(), "sluice-test-")));
		cleanups.push(() => files.remove());
		const server = await serving((_request, response) => response.writeHead(403).end("disabled by t0ken"));
		const headers = { authorization: "Bearer {env.TOKEN}" };
		const mapping = mappingOf({ port: server.port, sleep: { path: "/sleep", headers } });
		const options = { mapping, env: { TOKEN: "t0ken" }, files, clock: systemClock, randomId: randomUUID };
		await expect(sleepServer(options)).rejects.toThrow(/^POST \/sleep was answered with HTTP 403: disabled by \*\*\*$/);
		expect(files.isAsleep()).toBe(false);
		await expect(sleepServer({ ...options, mapping: mappingOf({}) })).rejects.toThrow("http.sleep is missing");
	});
});

/** Resolves when `holds` does, checked at each turn of the event loop. */
async function until(holds: () => boolean): Promise<void> {
	while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}
