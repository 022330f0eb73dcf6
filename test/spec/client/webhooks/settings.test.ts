/** The endpoint's setting `webhooks`: its schedule of attempts, and receivers that are disabled (D21). */
import { describe, expect, it } from "vitest";
import { eventBus } from "../../../../src/kernel/events.ts";
import { log } from "../../../../src/kernel/log.ts";
import { call } from "../../../support/service.ts";
import { atOnce } from "../../hand-worker.ts";
import { webhookSite } from "./site.ts";

const site = webhookSite();
const { hand, clock, ended, deliveryOf, over, arrived, failed, delivered } = site;

const HOUR_MS = 3_600_000;

async function set(webhooks: object): Promise<void> {
	const { status, text } = await call(site.service.url, `/v1/endpoints/${site.ep}`, {
		method: "PATCH",
		body: { webhooks },
	});
	expect(status, text).toBe(200);
}

const receivers = async (): Promise<Record<string, unknown>[]> =>
	(await call(site.service.url, `/v1/webhooks/receivers?endpoint=${site.ep}`)).json.receivers;

/** Deliveries whose only attempt fails. */
async function fail(count: number): Promise<void> {
	for (let n = 0; n < count; n += 1) {
		const id = await ended();
		expect(await over(id)).toMatchObject({ state: "failed", tries: [{ status: 500 }] });
	}
}

/** An hour; on PostgreSQL the server needs some more to send for all again. */
async function pass(): Promise<void> {
	site.jump(HOUR_MS);
	for (let step = 0; step < 20; step += 1) await hand.advance(1000);
}

describe("schedule", () => {
	it("D21: a list has the waits between the attempts", async () => {
		await set({ schedule: [1000, 5000, 2000] });
		site.reply(() => 500);
		const { state, tries } = await over(await ended());
		expect(state).toBe("failed");
		const waits = tries.slice(1).map(({ at }, n) => at - tries[n]!.at);
		expect(waits).toEqual([1000, 5000, 2000]);
	});
});

describe("a receiver that keeps failing", () => {
	it("D21: is disabled for its endpoint with an event and a log line, and called again when enabled", async () => {
		const events = eventBus();
		const lines: string[] = [];
		log({ events, clock, write: (line) => lines.push(line) });
		const remove = site.service.events.onAny((name, facts) => events.emit(name, facts));
		const disabled = site.service.next("webhook.disabled", ({ endpoint }) => endpoint === site.ep);
		const host = new URL(site.hook).host;
		await set({ schedule: [], disableAfterMs: HOUR_MS });
		site.reply(() => 500);
		await fail(9);
		await pass();
		expect((await receivers())[0]).not.toHaveProperty("disabledAt");
		await fail(1);
		expect(await atOnce(hand, disabled)).toMatchObject({
			host,
			reason: "the receiver answered 500, not 200",
		});
		expect(lines.filter((line) => line.includes("not sent any more"))).toEqual([
			expect.stringContaining(`sluice webhooks enable ${site.ep} ${host}`),
		]);
		expect(await receivers()).toMatchObject([{ receiver: host, failures: 10, disabledAt: expect.any(String) }]);

		site.reply(() => 200);
		const job = await ended();
		expect(await over(job)).toMatchObject({
			state: "failed",
			tries: [{ error: expect.stringContaining("the receiver is disabled") }],
		});
		expect(site.count).toBe(10);

		const path = `/v1/endpoints/${site.ep}/webhook-receivers/${encodeURIComponent(host)}/enable`;
		expect((await call(site.service.url, path, { method: "POST" })).status).toBe(200);
		expect(await receivers()).toEqual([]);
		const done = delivered(job);
		await site.service.engine.webhooks.redeliver((await deliveryOf(job)).id);
		await atOnce(hand, done);
		await arrived(11);
		remove();
	});

	it("D21: is not disabled where disableAfterMs is off, or before 10 deliveries failed", async () => {
		await set({ schedule: [], disableAfterMs: HOUR_MS });
		site.reply(() => 500);
		await fail(1);
		await pass();
		await fail(8);
		await set({ disableAfterMs: "off" });
		await fail(2);
		expect((await receivers())[0]).not.toHaveProperty("disabledAt");
		const last = failed(await ended());
		await atOnce(hand, last);
		expect(site.count).toBe(12);
	});
});
