/** Section 4: an `Idempotency-Key` makes a submission happen once (D14). */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { manualClock } from "../../support/manual-clock.ts";
import { call, startService, type TestService } from "../../support/service.ts";
import { atOnce, begun, endWith, endpointsByName, expectError, handWorker } from "../hand-worker.ts";

const DAY_MS = 86_400_000;
const clock = manualClock();
const unused = endpointsByName(30, { retention: { run: 20_000, runsync: 20_000 } });
let service: TestService;
let ep: string;

beforeAll(async () => {
	service = await startService({
		endpoints: { ...unused.settings, full: { limits: { queue: 0 } } },
		clock,
		pauseMs: Infinity,
	});
});
beforeEach(() => {
	ep = unused.next();
});
afterAll(() => endWith(service, clock));

interface Asked {
	key?: string;
	operation?: string;
	text?: string;
	endpoint?: string;
}
const submit = ({
	key = "k-1",
	operation = "run",
	text = '{"input":{}}',
	endpoint = ep,
}: Asked = {}): ReturnType<typeof call> =>
	call(service.url, `/v2/${endpoint}/${operation}`, { text, headers: { "idempotency-key": key } });
const waiting = async (): Promise<number> => (await call(service.url, `/v2/${ep}/health`)).json.jobs.inQueue;

describe("the same key", () => {
	it("D14: and the same body give the same job, whatever has become of it", async () => {
		const { id } = (await submit()).json;
		expect((await submit()).json).toEqual({ id, status: "IN_QUEUE" });
		const worker = await handWorker(service, ep);
		await worker.takeThis(id);
		expect((await submit()).json.id).toBe(id);
		await worker.done(id, { output: 1 });
		expect((await submit()).json.id).toBe(id);
		expect(await waiting()).toBe(0);
	});

	it("D14: another body is 409, byte for byte; the job stays", async () => {
		const { id } = (await submit({ text: '{"input":{"a":1}}' })).json;
		for (const text of ['{"input":{"a":2}}', '{"input":{"a":1} }', '{"input":{"a":1},"policy":{}}'])
			expectError(await submit({ text }), 409, "idempotency_reused");
		expect((await submit({ text: '{"input":{"a":1}}' })).json.id).toBe(id);
		expect(await waiting()).toBe(1);
	});

	it("D14: is another one at another endpoint and for another operation", async () => {
		const one = (await submit()).json.id;
		const other = unused.next();
		const two = (await submit({ endpoint: other })).json.id;
		const queued = service.next("job.queued");
		const held = submit({ operation: "runsync" });
		const { id: three } = await queued;
		expect(new Set([one, two, three]).size).toBe(3);
		await call(service.url, `/v2/${ep}/cancel/${three}`, { method: "POST" });
		await held;
	});

	it("D14: /sdk/v2 shares it with /v2", async () => {
		const { id } = (await submit()).json;
		expect(
			(
				await call(service.url, `/sdk/v2/${ep}/run`, {
					text: '{"input":{}}',
					headers: { "idempotency-key": "k-1" },
				})
			).json.id,
		).toBe(id);
	});

	it("D14: two at once share one job", async () => {
		const answers = await Promise.all(Array.from({ length: 10 }, () => submit()));
		expect(new Set(answers.map(({ json }) => json.id)).size).toBe(1);
		expect(await waiting()).toBe(1);
	});

	it("D14: two at once in /runsync both wait and get the result", async () => {
		const queued = service.next("job.queued");
		const init = { text: '{"input":{}}', headers: { "idempotency-key": "k-1" } };
		const held = [
			await begun(service.url, `/v2/${ep}/runsync?wait=60000`, init),
			await begun(service.url, `/v2/${ep}/runsync?wait=61000`, init),
		];
		const { id } = await queued;
		const worker = await handWorker(service, ep);
		await worker.takeThis(id);
		await clock.advance(1000);
		expect(held.map(({ over }) => over())).toEqual([false, false]);
		await worker.done(id, { output: "one" });
		for (const { answer } of held)
			expect((await atOnce(clock, answer)).json).toMatchObject({
				id,
				status: "COMPLETED",
				output: "one",
			});
		expect((await submit({ operation: "runsync" })).json).toMatchObject({ id, output: "one" });
	});

	it("D14: is remembered for 24 h", async () => {
		const { id } = (await submit()).json;
		const worker = await handWorker(service, ep);
		await worker.takeThis(id);
		await worker.done(id, { error: "broke" });
		await clock.leap(DAY_MS - 1);
		expectError(await submit(), 409, "idempotency_expired");
		await clock.advance(1);
		const again = await submit();
		expect(again.status).toBe(200);
		expect(again.json.id).not.toBe(id);
	});
});

describe("a job that was removed", () => {
	it("D14: expired: 409 with its last state; it never runs again", async () => {
		const { id } = (await submit()).json;
		const worker = await handWorker(service, ep);
		await worker.takeThis(id);
		await worker.done(id, { output: 1 });
		await clock.advance(20_000);
		expect(expectError(await submit(), 409, "idempotency_expired").error).toContain("COMPLETED");
		expect(await waiting()).toBe(0);
	});

	it("D14: purged: 409", async () => {
		await submit();
		await call(service.url, `/v2/${ep}/purge-queue`, { method: "POST" });
		expectError(await submit(), 409, "idempotency_expired");
		expect(await waiting()).toBe(0);
	});
});

describe("a refused submission", () => {
	it("D14: keeps no key: neither a bad body nor a full queue", async () => {
		expectError(await submit({ text: '{"input":1}' }), 400, "bad_request");
		expect((await submit()).status).toBe(200);
		const first = (await submit({ endpoint: "full" })).json.id;
		expectError(await submit({ endpoint: "full", key: "k-2" }), 429, "queue_full");
		// A repeat is no submission: it is not refused though the queue is full.
		expect((await submit({ endpoint: "full" })).json.id).toBe(first);
		await call(service.url, `/v2/full/cancel/${first}`, { method: "POST" });
		expect((await submit({ endpoint: "full", key: "k-2" })).status).toBe(200);
	});

	it.each([
		["empty", ""],
		["too long", "k".repeat(256)],
		["not ASCII", "k\u00e9"],
	])("D14: a key that is %s is 400 and says so", async (_, key) => {
		expectError(await submit({ key }), 400, "bad_request", ["Idempotency-Key"]);
	});

	it("D14, D43: has its job while the store takes no others, unless its input is large", async () => {
		const { id } = (await submit()).json;
		const large = { key: "k-large", text: JSON.stringify({ input: { text: "x".repeat(70_000) } }) };
		expect((await submit(large)).status).toBe(200);
		const { stored } = service.engine.budgets;
		const held = stored.limit - stored.used;
		stored.hold(held);
		try {
			expect((await submit()).json).toEqual({ id, status: "IN_QUEUE" });
			expectError(await submit({ key: "k-new" }), 503, "store_full");
			expectError(await submit(large), 503, "store_full");
		} finally {
			stored.give(held);
		}
		expect((await submit({ key: "k-new" })).status).toBe(200);
	});

	it("D14: a key of 255 characters is taken", async () => {
		expect((await submit({ key: "k".repeat(255) })).status).toBe(200);
	});
});
