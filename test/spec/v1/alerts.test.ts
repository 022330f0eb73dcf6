/** `/v1/alerts`, and when messages are sent and repeated (D53). */
import { busOf } from "../../../src/kernel/events.ts";
import type { EVENTS } from "../../../src/modules/alerts/events.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { advanceUntil, manualClock } from "../../support/manual-clock.ts";
import { call, startService, type TestService } from "../../support/service.ts";
import { silence, webhookReceiver, type WebhookReceiver } from "../../support/webhook-receiver.ts";
import { endWith, expectError, submitted } from "../hand-worker.ts";
import { keyWith, MOMENT, operator, type Operator } from "../operator.ts";

const EVALUATE_MS = 15_000;
const REPEAT_MS = 600_000;
const SECRET = `whsec_${Buffer.alloc(24).toString("base64")}`;
const clock = manualClock();
let status = 500;
let receiver: WebhookReceiver;
let service: TestService;
let admin: Operator;

beforeAll(async () => {
	receiver = await webhookReceiver({ reply: () => status });
	service = await startService({
		endpoints: { waits: {}, other: {} },
		clock,
		pauseMs: Infinity,
		settings: {
			alerts: {
				repeatEvery: "10m",
				receivers: [{ type: "webhook", url: `${receiver.url}/path`, secret: SECRET }],
				rules: { SluiceOldestWait: { threshold: 30, for: "1m" }, SluiceNoWorkers: { enabled: false } },
			},
		},
	});
	admin = operator(service);
});
afterAll(async () => {
	await endWith(service, clock);
	await receiver.end();
});

const put = (path: string, body: unknown) => call(service.url, `/v1${path}`, { method: "PUT", body });
const eventsOf = ({ events }: Pick<TestService, "events">) => busOf<typeof EVENTS>(events);
const unsent: { retryMs: number }[] = [];
const messages = (): object[] => receiver.received.map(({ body }) => JSON.parse(body.toString()) as object);
const ids = (): unknown[] => receiver.received.map(({ headers }) => headers["webhook-id"]);
const alertsSeen = async () => (await admin.seen("/alerts")).alerts;
const passed = (ms: number): Promise<void> => clock.advance(ms);

describe("D53: an alert", () => {
	it("fires once its condition has held for its time, and is sent again until the receiver accepts it", async () => {
		eventsOf(service).on("alert.unsent", (facts) => unsent.push(facts));
		const fired = new Promise((resolve) => eventsOf(service).on("alert.fired", resolve));
		const from = clock.now();
		await submitted(service, "waits");
		await advanceUntil(clock, () => receiver.received.length > 0, 1000);
		expect(await fired).toMatchObject({ alert: "SluiceOldestWait" });
		// 30 s until the wait is too long, a minute of that, and the steps of 15 s.
		expect(clock.now() - from).toBeGreaterThan(90_000);
		expect(clock.now() - from).toBeLessThan(90_000 + 2 * EVALUATE_MS + 1000);
		expect(await alertsSeen()).toEqual([
			{
				name: "SluiceOldestWait",
				severity: "warning",
				labels: { endpoint: "waits" },
				value: expect.any(Number),
				summary: expect.stringMatching(/^A job of waits has waited for 1m\d+s\.$/),
				since: MOMENT,
				runbook: `${service.url}/docs/runbooks/oldest-wait/`,
			},
		]);
		await advanceUntil(clock, () => receiver.received.length > 3, 1000);
		expect(unsent.map(({ retryMs }) => retryMs).slice(0, 3)).toEqual([15_000, 30_000, 60_000]);
		status = 204;
		await advanceUntil(clock, () => receiver.received.length > 4, 1000);
		expect(new Set(ids()).size, "a try again is the same message").toBe(1);
		expect((await alertsSeen())[0].notifiedAt).toEqual(MOMENT);
	});

	it("is repeated after repeatEvery, and not before; when it is resolved, a last message says so", async () => {
		const before = receiver.received.length;
		await passed(REPEAT_MS / 2);
		expect(receiver.received).toHaveLength(before);
		await passed(REPEAT_MS / 2 + EVALUATE_MS);
		expect(receiver.received).toHaveLength(before + 1);
		expect(new Set(ids().slice(before - 1)).size).toBe(2);
		await call(service.url, "/v2/waits/purge-queue", { method: "POST" });
		await passed(2 * EVALUATE_MS);
		expect(messages().slice(before + 1)).toMatchObject([
			{ title: "Resolved: SluiceOldestWait", alerts: [{ status: "resolved", resolvedAt: MOMENT }] },
		]);
		await passed(2 * REPEAT_MS);
		expect(receiver.received).toHaveLength(before + 2);
		expect(await alertsSeen()).toEqual([]);
	});
});

describe("D53: silences and rights", () => {
	it("a silence has bounds, replaces that of its endpoint, ends after its time, and is ended by name", async () => {
		const made = await put("/alerts/SluiceSwaps/silence", { for: "1m", endpoint: "waits", comment: "why" });
		const silence = { name: "SluiceSwaps", endpoint: "waits", until: MOMENT, comment: "why" };
		expect(made.json).toEqual(silence);
		await put("/alerts/SluiceSwaps/silence", { endpoint: "waits" });
		expect((await admin.seen("/alerts")).silences).toEqual([{ name: "SluiceSwaps", endpoint: "waits", until: MOMENT }]);
		await clock.leap(2 * 3_600_000 + 1000);
		expect((await admin.seen("/alerts")).silences).toEqual([]);
		for (const [name, body, field] of [
			["SluiceNone", {}, "alert"],
			["SluiceSwaps", { for: 1 }, "for"],
			["SluiceSwaps", { endpoint: "a b" }, "endpoint"],
			["SluiceSwaps", { until: 1 }, "until"],
		] as const) {
			const refused = await put(`/alerts/${name}/silence`, body);
			expectError(refused, 400, "bad_request");
			expect(refused.json.details).toMatchObject([{ field }]);
		}
		expectError(await admin.remove("/alerts/SluiceSwaps/silence"), 404, "silence_not_found");
		expectError(await admin.remove("/alerts/SluiceNone/silence"), 400, "bad_request");
		for (let n = 0; n < 100; n += 1) await put("/alerts/SluiceSwaps/silence", { endpoint: `e${n}` });
		expectError(await put("/alerts/SluiceSwaps/silence", {}), 400, "bad_request");
		expect((await admin.seen("/alerts")).silences).toHaveLength(100);
		for (let n = 0; n < 100; n += 1) await admin.remove(`/alerts/SluiceSwaps/silence?endpoint=e${n}`);
		expect((await admin.seen("/alerts")).silences).toEqual([]);
	});

	it("a key of an endpoint sees its alerts only; changes and tests need an admin key", async () => {
		for (const endpoint of ["waits", "other"]) {
			await submitted(service, endpoint);
			await put("/alerts/SluiceSwaps/silence", { endpoint });
		}
		await put("/alerts/SluiceSwaps/silence", {});
		await passed(120_000);
		expect(await alertsSeen()).toHaveLength(2);
		const reader = operator(service, (await keyWith(service, ["read"], ["waits"])).key);
		const seen = await reader.seen("/alerts");
		expect(seen.alerts).toMatchObject([{ labels: { endpoint: "waits" } }]);
		expect(seen.silences).toMatchObject([{ endpoint: "waits" }]);
		expect(seen).not.toHaveProperty("receivers");
		expect((await admin.seen("/alerts")).receivers).toEqual([`1 webhook 127.0.0.1:${receiver.port}`]);
		const writer = operator(service, (await keyWith(service, ["write"])).key);
		expectError(await writer.post("/alerts/test"), 401, "unauthorized");
		expectError(await writer.remove("/alerts/SluiceSwaps/silence"), 401, "unauthorized");
		expect((await admin.post("/alerts/test")).json).toEqual({
			receivers: [{ receiver: `1 webhook 127.0.0.1:${receiver.port}` }],
		});
		expect(messages().at(-1)).toEqual({ title: "Test of Sluice's alerts", alerts: [] });
	});
});

it("D53: a receiver that hangs delays neither the rules nor other receivers", async () => {
	const hand = manualClock();
	const hanging = await webhookReceiver({ reply: () => silence });
	const good = await webhookReceiver();
	const own = await startService({
		endpoints: { first: {}, second: {} },
		clock: hand,
		pauseMs: Infinity,
		settings: {
			alerts: {
				receivers: [hanging, good].map(({ url }) => ({ type: "webhook", url, secret: SECRET })),
				rules: { SluiceOldestWait: { threshold: 30, for: "1m" }, SluiceNoWorkers: { enabled: false } },
			},
		},
	});
	const firedAt: number[] = [];
	eventsOf(own).on("alert.fired", () => firedAt.push(hand.now()));
	await submitted(own, "first");
	await hand.advance(EVALUATE_MS);
	await submitted(own, "second");
	await advanceUntil(hand, () => good.received.length > 1, 500);
	expect(firedAt[1]! - firedAt[0]!).toBe(EVALUATE_MS);
	expect(hanging.received.length).toBeGreaterThan(0);
	await endWith(own, hand);
	await Promise.all([hanging.end(), good.end()]);
});
