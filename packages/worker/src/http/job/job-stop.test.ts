import { afterEach, describe, expect, it } from "vitest";
import { manualClock } from "../../../../../test/support/worker-kit/http-servers.ts";
import { closeServers, handlerOf, json } from "../../../../../test/support/worker-kit/job-handler.ts";
import { cancelBy } from "../../../../../test/support/worker-kit/mapping.ts";
import { type Clock, systemClock } from "../../clock.ts";

afterEach(closeServers);

describe("a stop of the service", () => {
	/** A request that stays open. */
	async function open(mapping: object, onCancel: (finish: () => void) => void = () => {}) {
		const stop = new AbortController();
		const closed = Promise.withResolvers<void>();
		let finish = (): void => {};
		const started = await handlerOf(mapping, (request, response) => {
			if (request.url === "/cancel") {
				json(response, {});
				return onCancel(finish);
			}
			response.on("close", () => closed.resolve());
			finish = () => json(response, "half");
			stop.abort();
		});
		return { ...started, stop, closed: closed.promise };
	}

	it("close: closes the connection at once, and does not end the server", async () => {
		const { run, stop, closed, kills } = await open({});
		await run({}, stop.signal);
		await closed;
		expect(kills).toEqual([]);
	});

	it("wait: calls the route and lets the request end", async () => {
		const cancel = cancelBy("wait", { path: "/cancel" });
		const { run, stop, kills } = await open({ cancel }, (finish) => finish());
		expect(await run({}, stop.signal)).toBe("half");
		expect(kills).toEqual([]);
	});

	it("the handler returns only after the answer to the route", async () => {
		const order: string[] = [];
		const stop = new AbortController();
		let finish = (): void => {};
		const cancel = cancelBy("wait", { path: "/cancel" });
		const { run } = await handlerOf({ cancel }, ({ url }, response) => {
			if (url === "/") {
				finish = () => json(response, "half");
				return stop.abort();
			}
			finish();
			response.on("finish", () => order.push("cancelled"));
			return void systemClock.sleep(50).then(() => json(response, {}));
		});
		await run({}, stop.signal);
		expect([...order, "returned"]).toEqual(["cancelled", "returned"]);
	});

	it("wait: ends a server whose request stays open", async () => {
		const { run, stop, closed, kills } = await open({ cancel: cancelBy("wait", { path: "/cancel", waitMs: 100 }) });
		await run({}, stop.signal);
		await closed;
		expect(kills).toEqual(["its job did not end in 100 ms"]);
	});

	it("does nothing on the server while it is busy, since the job is not on it", async () => {
		const stop = new AbortController();
		const clock: Clock = {
			...systemClock,
			sleep(ms, signal) {
				if (ms === 1000) stop.abort();
				return systemClock.sleep(ms, signal);
			},
		};
		const mapping = { cancel: cancelBy("kill", { path: "/cancel" }) };
		const { run, server, kills } = await handlerOf(
			mapping,
			(_request, response) => response.writeHead(429).end(),
			clock,
		);
		await run({}, stop.signal);
		expect([server.received.map(({ url }) => url), kills]).toEqual([["/"], []]);
	});

	it("does nothing on the server while a file for it is fetched", async () => {
		const stop = new AbortController();
		const files = [{ field: "f", from: "{input.f}" }];
		const mapping = { request: { urls: "any", files }, cancel: cancelBy("kill", { path: "/cancel" }) };
		const { run, server, kills } = await handlerOf(mapping, () => stop.abort());
		await run({ f: `http://127.0.0.1:${server.port}/file` }, stop.signal);
		expect([server.received.map(({ url }) => url), kills]).toEqual([["/file"], []]);
	});

	it("kill: ends the server", async () => {
		const { run, stop, kills } = await open({ cancel: cancelBy("kill") });
		await run({}, stop.signal);
		expect(kills).toEqual(["its job was cancelled"]);
	});

	it("never ends a server that has other jobs", async () => {
		const stops = [new AbortController(), new AbortController()];
		let count = 0;
		const { run, kills } = await handlerOf({ concurrency: 2, cancel: cancelBy("kill") }, (_request, response) => {
			count += 1;
			if (count === 2) stops[0]!.abort();
			response.on("close", () => stops[1]!.abort());
		});
		const first = run({}, stops[0]!.signal);
		const second = run({}, stops[1]!.signal);
		await first;
		expect(kills).toEqual([]);
		stops[1]!.abort();
		await second;
		expect(kills).toEqual(["its job was cancelled"]);
	});

	it("ends a stream", async () => {
		const stop = new AbortController();
		const { run } = await handlerOf({ stream: { as: "text", when: "always" } }, (_request, response) => {
			response.write("a");
			stop.abort();
		});
		await run({}, stop.signal);
	});
});

describe("silence", () => {
	it("of a stream is a loss, and ends the server", async () => {
		const mapping = { stream: { as: "text", when: "always" }, timeouts: { silenceMs: 80 } };
		const { run, kills } = await handlerOf(mapping, (_request, response) => response.write("a"));
		expect(await run({})).toMatchObject({ message: "The server sent nothing for 80 ms.", loss: true });
		expect(kills).toEqual(["it sent nothing for 80 ms"]);
	});

	it("before the first byte of a stream is a loss", async () => {
		const mapping = { stream: { as: "text", when: "always" }, timeouts: { silenceMs: 80 } };
		const { run, kills } = await handlerOf(mapping, () => {});
		expect(await run({})).toMatchObject({ message: "The server sent nothing for 80 ms.", loss: true });
		expect(kills).toEqual(["it sent nothing for 80 ms"]);
	});

	it("is a loss also if the server ends the job well after its cancellation, and does not end the server", async () => {
		const mapping = {
			stream: { as: "text", when: "always" },
			timeouts: { silenceMs: 80 },
			cancel: cancelBy("wait", { path: "/cancel" }),
		};
		let finish = (): void => {};
		const { run, kills } = await handlerOf(mapping, ({ url }, response) => {
			if (url === "/") {
				response.write("a");
				finish = () => void response.end();
			} else {
				json(response, {});
				finish();
			}
		});
		expect(await run({})).toMatchObject({ message: "The server sent nothing for 80 ms.", loss: true });
		expect(kills).toEqual([]);
	});

	it("is not that of a result which takes long to read", async () => {
		const clock = manualClock();
		const async = { path: "/j", done: ["d"], everyMs: 50, result: { path: "/result" } };
		const { run, kills } = await handlerOf(
			{ async, timeouts: { silenceMs: 80 } },
			({ url }, response) => {
				if (url === "/result") clock.advance(100);
				json(response, { status: "d" });
			},
			clock,
		);
		const result = run({});
		await clock.pass(50);
		expect([await result, kills]).toEqual([{ status: "d" }, []]);
	});

	it("is not that of a stream whose chunks the service does not take", async () => {
		const clock = manualClock();
		const stream = { as: "ndjson", when: "always" };
		const { run, kills } = await handlerOf(
			{ stream, timeouts: { silenceMs: 80 } },
			(_request, response) => response.end("1\n2\n"),
			clock,
		);
		expect(await run({}, undefined, () => clock.advance(100))).toEqual([1, 2, [1, 2]]);
		expect(kills).toEqual([]);
	});

	it("of a poll is a loss", async () => {
		const mapping = {
			async: { path: "/j", done: ["d"], everyMs: 10 },
			cancel: { waitMs: 50 },
			timeouts: { silenceMs: 80 },
		};
		const { run } = await handlerOf(mapping, ({ url }, response) => {
			if (url === "/") json(response, {});
		});
		expect(await run({})).toMatchObject({ message: "The server sent nothing for 80 ms.", loss: true });
	});
});
