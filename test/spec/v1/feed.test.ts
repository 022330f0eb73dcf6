/** `/v1/feed`: all endpoints live, as server-sent events (D39). */
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { advanceUntil, manualClock } from "../../support/manual-clock.ts";
import { call, folder, KEY, startService, type TestService } from "../../support/service.ts";
import { atOnce, endWith, expectError, handWorker, submitted } from "../hand-worker.ts";
import { untilTrue } from "../../support/until.ts";
import { requestText, stalledReader } from "../raw-http.ts";
import { keyWith, operator } from "../operator.ts";

/** The beginning of a minute. */
const T0 = 1_800_000_000_000;

const clock = manualClock(T0);
let service: TestService;
beforeAll(async () => {
	service = await startService({ endpoints: { a: { name: "First" }, b: {} }, clock });
});
afterAll(() => endWith(service, clock));

/** What a feed sends, piece by piece. */
interface Feed {
	/**
	 * The next event or comment; time goes on, 100 ms by 100 ms, until it comes. Undefined at the
	 * end.
	 */
	next(): Promise<{ at: string; endpoints: any[] } | "comment" | undefined>;
	/** Pieces that came and were not asked for. */
	waiting(): number;
	leave(): void;
}

async function open(of: TestService, query = "", { key = KEY, time = clock } = {}): Promise<Feed> {
	const left = new AbortController();
	onTestFinished(() => left.abort());
	const response = await fetch(`${of.url}/v1/feed${query}`, {
		headers: { authorization: `Bearer ${key}` },
		signal: left.signal,
	});
	expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
	const pieces: (string | undefined)[] = [];
	void (async () => {
		let text = "";
		for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
			const parts = (text + piece).split("\n\n");
			text = parts.pop() ?? "";
			pieces.push(...parts);
		}
	})()
		.catch(() => {})
		.finally(() => pieces.push(undefined));
	return {
		async next() {
			await advanceUntil(time, () => pieces.length > 0, 100);
			const piece = pieces.shift();
			if (piece === undefined) return undefined;
			if (piece.startsWith(":")) return "comment";
			const [event, data] = piece.split("\n");
			expect(event).toBe("event: overview");
			return JSON.parse(data!.slice("data: ".length)) as { at: string; endpoints: any[] };
		},
		waiting: () => pieces.length,
		leave: () => left.abort(),
	};
}

/** The next overview. */
async function overview(feed: Feed): Promise<{ at: string; endpoints: any[] }> {
	for (;;) {
		const piece = await feed.next();
		if (piece === undefined) throw new Error("The feed has ended.");
		if (piece !== "comment") return piece;
	}
}

/** The first overview that fits. */
async function until(feed: Feed, fits: (endpoints: any[]) => boolean): Promise<any[]> {
	for (;;) {
		const { endpoints } = await overview(feed);
		if (fits(endpoints)) return endpoints;
	}
}

const QUIET = {
	paused: false,
	health: { state: "healthy" },
	queue: { inQueue: 0, inProgress: 0, completed: 0, failed: 0, retried: 0 },
	workers: { idle: 0, initializing: 0, ready: 0, running: 0, throttled: 0, unhealthy: 0 },
	perMinute: { completed: 0, failed: 0, timedOut: 0, cancelled: 0 },
	spark: Array.from({ length: 30 }, () => 0),
};

it("D39: all endpoints at once, then what has changed, and nothing while nothing does", async () => {
	const feed = await open(service);
	const first = await overview(feed);
	expect(first.endpoints).toEqual([
		{ id: "a", name: "First", ...QUIET },
		{ id: "b", name: "b", ...QUIET },
	]);
	expect(Math.abs(Date.parse(first.at) - clock.now())).toBeLessThan(1000);
	await clock.advance(10_000);
	expect(feed.waiting()).toBe(0);
	const id = await submitted(service, "a");
	const [a, b] = (await overview(feed)).endpoints;
	expect([a.queue.inQueue, b]).toEqual([1, { id: "b", name: "b", ...QUIET }]);
	const worker = await handWorker(service, "a");
	await worker.takeThis(id);
	const [busy] = await until(feed, ([each]) => each.workers.running === 1);
	expect(busy.queue).toMatchObject({ inQueue: 0, inProgress: 1 });
	await worker.done(id, { output: {} });
	const [done] = await until(feed, ([each]) => each.queue.completed === 1);
	expect([
		done.perMinute.completed,
		done.spark.at(-1),
		done.spark.reduce((sum: number, value: number) => sum + value, 0),
	]).toEqual([1, 1, 1]);
	const moved = await until(feed, ([each]) => each.perMinute.completed === 0);
	expect(moved[0].spark.reduce((sum: number, value: number) => sum + value, 0)).toBe(1);
	expect(moved[0].spark.at(-1)).toBe(0);
	await operator(service).post("/endpoints/b/pause");
	expect((await until(feed, ([, each]) => each.paused))[1].paused).toBe(true);
});

it("D39: a comment when nothing has changed for 15 s", async () => {
	const feed = await open(service, "?endpoint=b&interval=60");
	expect((await overview(feed)).endpoints.map(({ id }) => id)).toEqual(["b"]);
	const began = clock.now();
	expect(await feed.next()).toBe("comment");
	expect(clock.now() - began).toBeGreaterThanOrEqual(14_000);
	expect(clock.now() - began).toBeLessThan(60_000);
});

it("D39: interval › no more often than asked", async () => {
	const feed = await open(service, "?interval=20&endpoint=b");
	await overview(feed);
	const began = clock.now();
	await submitted(service, "b");
	await overview(feed);
	expect(clock.now() - began).toBeGreaterThanOrEqual(19_000);
});

it("D30: a limited key hears of its endpoints only, and of nothing once it has ended", async () => {
	const { id, key } = await keyWith(service, ["read"], ["b"]);
	const feed = await open(service, "", { key });
	expect((await overview(feed)).endpoints.map((each) => each.id)).toEqual(["b"]);
	await submitted(service, "a");
	await clock.advance(5000);
	expect(feed.waiting()).toBe(0);
	expectError(await operator(service, key).get("/feed?endpoint=a"), 401, "unauthorized");
	await operator(service).remove(`/keys/${id}`);
	expect(await feed.next()).toBeUndefined();
});

it("D30: a feed of the key before a rotation ends with it", async () => {
	const { id, key } = await keyWith(service, ["read"]);
	const feed = await open(service, "?endpoint=b", { key });
	await overview(feed);
	await operator(service).post(`/keys/${id}/rotate`, {});
	await submitted(service, "b");
	expect(await feed.next()).toBeUndefined();
});

it("D39: what cannot be is refused", async () => {
	expectError(await operator(service).get("/feed?interval=0"), 400, "bad_query", ["interval"]);
	expectError(await operator(service).get("/feed?endpoint=nowhere"), 404, "endpoint_not_found");
	expectError(await call(service.url, "/v1/feed", { key: null }), 401, "unauthorized");
});

it("D34: a drain ends the feeds, and lets no other begin", async () => {
	const time = manualClock(T0);
	const here = await startService({ endpoints: { ep: {} }, clock: time, drainSeconds: 3600 });
	const worker = await handWorker(here, "ep");
	const held = await submitted(here, "ep");
	await worker.takeThis(held);
	const feed = await open(here, "", { time });
	await overview(feed);
	const draining = here.next("service.draining");
	const end = here.end();
	await draining;
	while ((await feed.next()) !== undefined);
	expectError(await call(here.url, "/v1/feed"), 503, "not_ready");
	await worker.done(held, { output: {} });
	await atOnce(time, end);
});

it("D39: ends of the half hour before a start are reported after it", async () => {
	const place = folder();
	const time = manualClock(T0);
	onTestFinished(() => place.remove());
	for (const before of [0, 1]) {
		const here = await startService({ endpoints: { ep: {} }, clock: time, in: place });
		const feed = await open(here, "", { time });
		expect((await overview(feed)).endpoints[0].spark.reduce((sum: number, value: number) => sum + value, 0)).toBe(
			before,
		);
		await call(here.url, `/v2/ep/cancel/${await submitted(here, "ep")}`, { method: "POST" });
		expect(
			(await until(feed, ([each]) => each.perMinute.cancelled === 1))[0].spark.reduce(
				(sum: number, value: number) => sum + value,
				0,
			),
		).toBe(before + 1);
		await time.advance(120_000);
		await atOnce(time, here.end());
	}
});

it("D41: a client that reads nothing is cut off after readTimeout", async () => {
	const many = Array.from({ length: 400 }, (_, n) => [`e${n}`, { name: "n".repeat(190) }]);
	const wide = await startService({
		endpoints: Object.fromEntries(many),
		settings: { budgets: { readTimeout: 1000 } },
		clock,
	});
	onTestFinished(() => endWith(wide, clock));
	const { management } = wide.engine.budgets;
	const socket = await stalledReader(
		wide.url,
		requestText({ method: "GET", path: "/v1/feed", headers: { Authorization: KEY } }),
	);
	onTestFinished(() => void socket.destroy());
	expect(management.used).toBe(1);
	for (let changes = 0; management.used > 0 && changes < 100; changes += 1) {
		await submitted(wide, "e0");
		await clock.advance(1000);
	}
	await untilTrue(() => management.used === 0);
});
