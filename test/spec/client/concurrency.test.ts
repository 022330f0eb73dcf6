/**
 * Section 8, concurrency over HTTP: how many requests of an operation may be in flight, and when a
 * place is free again (D24).
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { call } from "../../support/service.ts";
import { atOnce, begun, handWorker, submitted } from "../hand-worker.ts";
import { rawConnection, requestText } from "../raw-http.ts";
import { AUTH, clock, service, useLimitedService } from "./limited-service.ts";

useLimitedService();

type Answer = Awaited<ReturnType<typeof call>>;

/** What an answer reports of the rate: limit, remaining, reset. */
function quota({ headers }: Pick<Answer, "headers">): (string | null)[] {
	return ["limit", "remaining", "reset"].map((name) => headers.get(`ratelimit-${name}`));
}

function expect429(answer: Answer, code: "rate_limited" | "too_many_at_once", parts: readonly string[]): void {
	expect(answer.status, answer.text).toBe(429);
	const error = answer.json.error as string | { code: string; message: string };
	const [said, sentence] =
		typeof error === "string" ? [answer.json.code as string, error] : [error.code, error.message];
	expect(said).toBe(code);
	for (const part of parts) expect(sentence).toContain(part);
	expect(answer.headers.get("retry-after")).toMatch(/^([1-9]|10)$/);
}

const INPUT = { body: { input: {} } };

describe("requests at once", () => {
	it("spec 8.1, D24: a waiting /runsync holds its place, the next is 429, and an answer frees it at once", async () => {
		const worker = await handWorker(service, "held");
		const held = [
			await begun(service.url, "/v2/held/runsync", INPUT),
			await begun(service.url, "/sdk/v2/held/runsync", INPUT),
		];
		const taken = (await worker.take())!;
		const refused = await call(service.url, "/v2/held/runsync", INPUT);
		expect429(refused, "too_many_at_once", ["'held'", "'runsync'", "2 concurrent requests"]);
		expect(refused.headers.get("retry-after")).toBe("1");
		// Refused for the number in flight, it has not used up any of the rate.
		expect(quota(refused)).toEqual(["2000", "1998", "10"]);
		// Other operations and endpoints do not see it.
		expect((await call(service.url, "/v2/held/run", INPUT)).status).toBe(200);
		expect((await call(service.url, "/v2/plain/runsync", { text: "{}" })).status).toBe(400);

		await worker.done(taken.id, { output: 1 });
		expect((await Promise.race(held.map(({ answer }) => answer))).json).toMatchObject({
			id: taken.id,
			status: "COMPLETED",
		});
		const after = await begun(service.url, "/v2/held/runsync", INPUT);
		expect429(await call(service.url, "/v2/held/runsync", INPUT), "too_many_at_once", []);
		await clock.advance(90_000);
		for (const { answer } of [...held, after]) expect((await atOnce(clock, answer)).status).toBe(200);
		for (let index = 0; index < 3; index += 1)
			expect((await call(service.url, "/v2/held/runsync", { text: "{}" })).status).toBe(400);
	});

	/** Opens a held /runsync and answers its connection once its job is queued. */
	async function heldSocket(endpoint: string, count = 1): Promise<Awaited<ReturnType<typeof rawConnection>>> {
		const connection = await rawConnection(service.url);
		let left = count;
		const queued = new Promise<void>((resolve) => {
			const remove = service.events.on("job.queued", () => {
				left -= 1;
				if (left > 0) return;
				remove();
				resolve();
			});
		});
		connection.write(
			requestText({
				method: "POST",
				path: `/v2/${endpoint}/runsync`,
				headers: AUTH,
				body: '{"input":{}}',
			}).repeat(count),
		);
		await queued;
		return connection;
	}

	/**
	 * Asks until the service has seen what was done to the connections; a place that stays taken is a
	 * test that does not end.
	 */
	async function untilFree(endpoint: string, count: number): Promise<void> {
		for (let free = 0; free < count; ) {
			const held = await Promise.all(
				Array.from({ length: count }, () => call(service.url, `/v2/${endpoint}/runsync`, { text: "{}" })),
			);
			free = held.filter(({ status }) => status === 400).length;
		}
	}

	it.each<[string, string, (connection: Awaited<ReturnType<typeof rawConnection>>) => void]>([
		["hung", "hangs up", ({ socket }) => socket.end()],
		["cut", "resets the connection", ({ reset }) => reset()],
	])("D24: on %s the place of a client that %s is free", async (endpoint, _, leave) => {
		for (let round = 0; round < 3; round += 1) {
			const held = [await heldSocket(endpoint), await heldSocket(endpoint)];
			expect429(await call(service.url, `/v2/${endpoint}/runsync`, INPUT), "too_many_at_once", []);
			for (const connection of held) leave(connection);
			await untilFree(endpoint, 2);
		}
	});

	it("D24: a client that left while its key was looked up holds no place", async () => {
		const { keys } = service.engine.access;
		const { identify } = keys;
		for (let index = 0; index < 3; index += 1) {
			const closed = new Promise<void>((resolve) => {
				const listener = (message: unknown): void => {
					unsubscribe("http.server.request.start", listener);
					(message as { response: ServerResponse }).response.once("close", resolve);
				};
				subscribe("http.server.request.start", listener);
			});
			const known = new Promise<void>((resolve) => {
				keys.identify = async (key, peer) => {
					await closed;
					resolve();
					return await identify(key, peer);
				};
			});
			const connection = await rawConnection(service.url);
			connection.write(requestText({ method: "GET", path: "/v2/left/status/none", headers: AUTH }));
			connection.socket.end();
			await known;
			keys.identify = identify;
		}
		// The last of them is let in now, and let go.
		await clock.advance(0);
		const answers = await Promise.all([1, 2].map(() => call(service.url, "/v2/left/status/none")));
		// They were let in, so they count; but they are not in flight.
		expect(answers.map((answer) => [answer.status, quota(answer)[1]])).toEqual([
			[404, "1996"],
			[404, "1995"],
		]);
	});

	it("D24: requests sent together on one connection hold a place each, and release all when it is cut", async () => {
		const connection = await heldSocket("piped", 2);
		expect429(await call(service.url, "/v2/piped/runsync", INPUT), "too_many_at_once", []);
		connection.reset();
		await untilFree("piped", 2);
	});

	it("D24, D7: a waiting /stream holds its place until it is answered", async () => {
		const worker = await handWorker(service, "streams");
		const id = await submitted(service, "streams");
		const path = `/v2/streams/stream/${id}?offset=0`;
		const held = [await begun(service.url, path), await begun(service.url, path)];
		expect429(await call(service.url, "/sdk/v2/streams/stream/none"), "too_many_at_once", ["'stream'"]);
		await worker.takeThis(id);
		await worker.chunk(id, { output: "a" });
		for (const { answer } of held) expect((await answer).json).toEqual([{ output: "a", metrics: {} }]);
		expect((await call(service.url, "/v2/streams/stream/none")).status).toBe(404);
		await worker.done(id, {});
	});

	it("D24, D7: so do server-sent events, until the last one", async () => {
		const worker = await handWorker(service, "events");
		const id = await submitted(service, "events");
		const connections = [await rawConnection(service.url), await rawConnection(service.url)];
		for (const connection of connections) {
			connection.write(
				requestText({
					method: "GET",
					path: `/v2/events/stream/${id}`,
					headers: { ...AUTH, Accept: "text/event-stream", Connection: "close" },
				}),
			);
			expect(await connection.answer({ head: true })).toMatchObject({
				status: 200,
				headers: { "ratelimit-limit": "2000" },
			});
		}
		expect429(await call(service.url, "/v2/events/stream/none"), "too_many_at_once", ["'stream'"]);
		await worker.takeThis(id);
		await worker.done(id, {});
		await Promise.all(connections.map(({ closed }) => closed));
		expect((await call(service.url, "/v2/events/stream/none")).status).toBe(404);
	});
});
