/**
 * Section 6: how webhooks go out when they are many, when receivers are slow, when the service
 * stops, and what is reported of them (D21).
 */
import { advanceUntil } from "../../../support/manual-clock.ts";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { busOf, eventBus } from "../../../../src/kernel/events.ts";
import type { EVENTS } from "../../../../src/modules/webhooks/events.ts";
import { log } from "../../../../src/kernel/log.ts";
import { folder, startService, type TestService } from "../../../support/service.ts";
import { silence, webhookReceiver } from "../../../support/webhook-receiver.ts";
import { atOnce, endWith, submitted } from "../../hand-worker.ts";
import { ALLOW, SECRET, webhookSite } from "./site.ts";

const site = webhookSite();
const { hand, clock, submit, cancel, ended, deliveries, deliveryOf, over, arrived, delivered, failed } = site;

describe("many", () => {
	it("D21: 1,000 deliveries to one receiver all arrive, once each, a few at a time", async () => {
		// The first four are answered when all four are there.
		const first: (() => void)[] = [];
		const own = await webhookReceiver({
			reply: (_request, number) =>
				number >= 4
					? 200
					: (response) => {
							first.push(() => response.writeHead(200).end());
							if (first.length === 4) for (const answer of first) answer();
						},
		});
		const body = { input: {}, webhook: own.url, policy: { ttl: 10_000 } };
		const ids: string[] = [];
		for (let round = 0; round < 20; round += 1)
			ids.push(...(await Promise.all(Array.from({ length: 50 }, () => submitted(site.service, site.ep, body)))));
		let acknowledged = 0;
		const all = site.service.next(
			"webhook.delivered",
			({ endpoint }) => endpoint === site.ep && (acknowledged += 1) === 1000,
		);
		await hand.advance(10_000);
		const requests = await atOnce(hand, own.arrived(1000));
		await atOnce(hand, all);
		await hand.advance(60_000);
		expect(own.received).toHaveLength(1000);
		expect(new Set(requests.map((each) => JSON.parse(each.body.toString()).id as string))).toEqual(new Set(ids));
		expect(own.open.most).toBe(4);
		await own.end();
	});

	it("D21: a slow receiver does not delay the deliveries to another", async () => {
		const slow = await webhookReceiver({ reply: () => silence });
		const stuck = await Promise.all(
			Array.from({ length: 250 }, () => submitted(site.service, site.ep, { input: {}, webhook: slow.url })),
		);
		let isPaused = false;
		const remove = busOf<typeof EVENTS>(site.service.events).on("webhook.paused", () => (isPaused = true));
		await Promise.all(stuck.map((id) => cancel(id)));
		await atOnce(hand, slow.arrived(4));
		const began = clock.now();
		const ids = await Promise.all(Array.from({ length: 50 }, () => ended()));
		// So long until all deliveries to the slow one, which were due before, have been checked.
		for (let step = 0; step < 10; step += 1) await hand.advance(100);
		await arrived(ids.length);
		expect(clock.now() - began).toBeLessThanOrEqual(1000);
		expect(slow.received).toHaveLength(4);
		expect(slow.open.most).toBe(4);
		await slow.end();
		await advanceUntil(hand, () => isPaused, 1000);
		remove();
		for (const row of await Promise.all(stuck.map((id) => deliveryOf(id)))) expect(row.state).toBe("pending");
	});
});

describe("stops and losses", () => {
	it("D21: what was not delivered before a stop is delivered after the start", async () => {
		const place = folder();
		const start = (): Promise<TestService> =>
			startService({ endpoints: { [site.ep]: {} }, settings: ALLOW, clock, in: place });
		const closed = await webhookReceiver();
		await closed.end();
		const own = await start();
		const id = await submit({ webhook: closed.url }, own);
		const fault = failed(id, own);
		await cancel(id, own);
		await atOnce(hand, fault);
		await endWith(own, hand);
		const back = await webhookReceiver({ port: closed.port });
		const next = await start();
		expect(await over(id, next)).toMatchObject({
			state: "delivered",
			tries: [{ error: expect.anything() }, { status: 200 }],
		});
		await hand.advance(30_000);
		expect(back.received).toHaveLength(1);
		await endWith(next, hand);
		await back.end();
		place.remove();
	});

	it("D21: a stop lets a try in flight end, within 5 s; one cut off is no try and comes again", async () => {
		const place = folder();
		const start = (): Promise<TestService> =>
			startService({ endpoints: { [site.ep]: {} }, settings: ALLOW, clock, in: place });
		let answer = (): void => {};
		site.reply(() => (response) => (answer = () => response.writeHead(200).end()));

		/** Begins to stop a service; answers when the stop waits for the try in flight. */
		async function stopping(own: TestService): Promise<{ over: () => boolean }> {
			let over = false;
			void own.end().finally(() => (over = true));
			await atOnce(hand, own.engine.ready());
			await hand.advance(0);
			return { over: () => over };
		}

		const first = await start();
		const ends = await ended({}, first);
		await arrived(1);
		const patient = await stopping(first);
		await hand.advance(4000);
		expect(patient.over()).toBe(false);
		const acknowledged = delivered(ends, first);
		answer();
		await atOnce(hand, acknowledged);
		await advanceUntil(hand, patient.over, 100);

		const second = await start();
		const cut = await ended({}, second);
		await arrived(2);
		const short = await stopping(second);
		await hand.advance(4999);
		expect(short.over()).toBe(false);
		await advanceUntil(hand, short.over, 100);

		site.reply(() => 200);
		const third = await start();
		expect(await deliveryOf(ends, third)).toMatchObject({
			state: "delivered",
			tries: [{ status: 200 }],
		});
		expect(await deliveryOf(cut, third)).toMatchObject({ state: "pending", tries: [], used: 0 });
		const done = delivered(cut, third);
		await hand.advance((await deliveryOf(cut, third)).dueAt! - clock.now());
		await atOnce(hand, done);
		const requests = await arrived(3);
		expect(requests[2]!.headers["webhook-id"]).toBe(requests[1]!.headers["webhook-id"]);
		expect((await deliveryOf(cut, third)).tries).toMatchObject([{ status: 200 }]);
		await endWith(third, hand);
		place.remove();
	});

	it("D21, D39: jobs cancelled with their endpoint send theirs, signed; then the secret is removed", async () => {
		site.reply((number) => (number === 0 ? 500 : 200));
		const { engine } = site.service;
		const id = await submit();
		const fault = failed(id);
		await engine.endpoints.remove(site.ep);
		await atOnce(hand, fault);
		for (let step = 0; step < 5; step += 1) await hand.advance(1000);
		expect(engine.endpoints.encryptedSecret(site.ep)).toBeDefined();
		expect(await over(id)).toMatchObject({ state: "delivered", used: 2 });
		const { headers, body } = (await arrived(2))[1]!;
		expect(headers["webhook-signature"]).toBe(
			new Webhook(SECRET).sign(
				String(headers["webhook-id"]),
				new Date(Number(headers["webhook-timestamp"]) * 1000),
				body.toString(),
			),
		);
		await advanceUntil(hand, () => engine.endpoints.encryptedSecret(site.ep) === undefined, 1000);
	});

	it("D21: deliveries are kept 7 days", async () => {
		const id = await submit();
		const done = delivered(id);
		await cancel(id);
		await atOnce(hand, done);
		site.jump(7 * 86_400_000 - 70_000);
		for (let step = 0; step < 65; step += 1) {
			await hand.advance(1000);
			expect(await deliveries(id)).toHaveLength(1);
		}
		await advanceUntil(hand, async () => (await deliveries(id)).length === 0, 1000);
	});
});

describe("secrets of the URL", () => {
	it("D21: path, query and user name of a webhook are in no line of the log and in no event", async () => {
		const lines: string[] = [];
		const events = eventBus();
		log({ events, clock, write: (line) => lines.push(line) });
		const recorded: string[] = [];
		const remove = site.service.events.onAny((name, facts) => {
			recorded.push(JSON.stringify([name, facts]));
			events.emit(name, facts);
		});
		site.reply((number) => (number === 0 ? 500 : 200), `${site.path}/path-word?token=query-word`);
		const url = `${site.hook}/path-word?token=query-word#hash-word`;
		const ids = [
			await ended({ webhook: url }),
			await ended({ webhook: "http://name-word:pass-word@127.0.0.1:1/" }),
			await ended({ webhook: "http://127.0.0.1:1/path-word" }),
		];
		for (const id of ids) await over(id);
		for (const id of ids)
			expect(lines.filter((line) => line.includes("webhook") && line.includes(id)).length).toBeGreaterThan(0);
		expect(recorded.filter((each) => each.includes("webhook.delivered"))).toHaveLength(1);
		expect(recorded.filter((each) => each.includes("webhook.failed")).length).toBeGreaterThanOrEqual(5);
		for (const text of [...lines, ...recorded]) expect(text).not.toMatch(/-word/);
		for (const id of ids)
			for (const { tries } of await deliveries(id)) expect(JSON.stringify(tries)).not.toMatch(/-word/);
		remove();
	});
});
