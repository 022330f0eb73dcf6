/**
 * The loop of deliveries over a real store that is unavailable at times, with sends that the test answers
 * (D21).
 */
import { afterEach, describe, expect, it } from "vitest";
import { siteOf, T0 } from "../../../test/store/site.ts";
import { advanceUntil, manualClock } from "../../../test/support/manual-clock.ts";
import { given } from "../../../test/support/given.ts";
import { folder } from "../../../test/support/service.ts";
import { counted } from "../../../test/support/work.ts";
import { budgetLimits, budgetMeters } from "../../kernel/core/budgets.ts";
import { ENDPOINT_DEFAULTS } from "../../kernel/core/endpoints/endpoint-schema.ts";
import { eventBus } from "../../kernel/events.ts";
import { FIRST_PAUSE_MS } from "../../kernel/core/webhooks.ts";
import { type Store, StoreUnavailable } from "../../kernel/store/contract/store.ts";
import type { DeliveryRow, WebhookStore } from "../../kernel/store/contract/webhooks.ts";
import { openSqlite } from "../../kernel/store/sqlite/open.ts";
import type { SignedPost } from "../../kernel/post/contract.ts";
import { webhookDeliverer } from "./deliver.ts";
import { createAvailability } from "../../kernel/engine/availability/availability.ts";
import type { WebhookSecret } from "../../kernel/engine/endpoints/webhook-secrets.ts";

let ends: (() => Promise<void>)[] = [];
afterEach(async () => {
	for (const end of ends.toReversed()) await end();
	ends = [];
});

const GOOD: WebhookSecret = { ok: true, text: "whsec_AAAA" };

/**
 * A loop over one store. `send` answers each try; `fail` makes a step of the store fail so many
 * times.
 */
async function sample(send: SignedPost) {
	const place = folder();
	// Waits for the disk take real time, which a manual clock must not leap over.
	const store: Store = counted(await openSqlite({ path: `${place.path}/sluice.db` }));
	ends.push(
		async () => place.remove(),
		() => store.close(),
	);
	const clock = manualClock(T0);
	const events = eventBus();
	const emitted: string[] = [];
	events.onAny((name) => emitted.push(name));
	const failing = new Map<keyof WebhookStore, number>();
	const webhooks = new Proxy(store.webhooks, {
		get: (target, name: keyof WebhookStore) => (q: never) => {
			const left = failing.get(name) ?? 0;
			if (left === 0) return (target[name] as (q: never) => unknown)(q);
			failing.set(name, left - 1);
			return Promise.reject(new StoreUnavailable("full", "the disk is full"));
		},
	});
	let secret = GOOD;
	const availability = createAvailability({ clock, store: { ...store, webhooks }, events });
	const loop = webhookDeliverer(
		given({
			clock,
			now: clock.now,
			store: availability.store,
			events,
			retry: availability.retry,
			budgets: budgetMeters(budgetLimits()),
			endpoints: {
				webhookSecret: () => secret,
				webhookSettings: () => ENDPOINT_DEFAULTS.webhooks,
			},
			send,
			hooks: {},
			cluster: { leads: () => true },
		}),
	);
	ends.push(async () => {
		const end = loop.stop();
		await clock.advance(10_000);
		await end;
	});
	const site = siteOf(store);
	return {
		clock,
		loop,
		another: () => siteOf(store),
		emitted,
		failing,
		setSecret: (value: WebhookSecret) => (secret = value),
		/** The end of a job with a webhook; the loop is notified, unless the signal is `lost`. */
		async end({
			lost = false,
			of = site,
			webhook = "http://hook.example/x",
		} = {}): Promise<() => Promise<DeliveryRow>> {
			const { id } = await of.add({ webhook, now: clock.now() });
			await store.jobs.move({ endpoint: of.endpoint, id, on: "cancel", now: clock.now() });
			if (!lost) loop.nudge();
			return async () => (await store.webhooks.list({ job: id, limit: 1 })).deliveries[0]!;
		},
		/** Lets work in progress go on until `fits`. */
		async until(fits: () => boolean | Promise<boolean>): Promise<void> {
			await advanceUntil(clock, fits, 0);
		},
	};
}

describe("delivering", () => {
	it("D21: a try is noted when the store is back, and not sent again for that", async () => {
		let sent = 0;
		const { clock, loop, emitted, failing, end, until } = await sample(async () => ((sent += 1), { status: 200 }));
		failing.set("tried", 3);
		loop.start();
		const row = await end();
		await until(() => emitted.includes("store.away"));
		await advanceUntil(clock, async () => (await row()).state !== "pending", 100);
		expect(await row()).toMatchObject({ state: "delivered", used: 1 });
		expect(emitted).toContain("store.back");
		await clock.advance(60_000);
		expect(sent).toBe(1);
	});

	it("D21: a store that is unavailable for claims is asked again; nothing ends the loop", async () => {
		const { clock, loop, emitted, failing, end, until } = await sample(async () => ({
			status: 200,
		}));
		failing.set("claim", 2);
		loop.start();
		const row = await end();
		await until(() => emitted.includes("fault"));
		await advanceUntil(clock, async () => (await row()).state === "delivered", 1000);
		expect(emitted.filter((name) => name === "fault").length).toBeGreaterThan(0);
	});

	it("D21: an internal error is reported; it is no try, and the delivery is due when its hold has ended", async () => {
		const times: number[] = [];
		const { clock, loop, emitted, end, until } = await sample(async () => {
			times.push(clock.now());
			if (times.length === 1) throw new Error("a mistake");
			return { status: 200 };
		});
		loop.start();
		const row = await end();
		await until(() => emitted.includes("fault"));
		expect(await row()).toMatchObject({ state: "pending", used: 0, tries: [] });
		await clock.advance((await row()).dueAt! - clock.now());
		await until(async () => (await row()).state === "delivered");
		expect(times[1]! - times[0]!).toBe(20_000);
	});

	it("D21: without a secret that can be read nothing is sent, and that is noted as a failed try", async () => {
		let sent = 0;
		const { clock, loop, setSecret, end, until } = await sample(async () => ((sent += 1), { status: 200 }));
		setSecret({ ok: false, why: "encrypted" });
		loop.start();
		const row = await end();
		await until(async () => (await row()).used === 1);
		expect((await row()).tries).toMatchObject([{ error: expect.stringContaining("another SLUICE_SECRET") }]);
		expect(sent).toBe(0);
		setSecret(GOOD);
		await clock.advance(10_000);
		await until(async () => (await row()).state === "delivered");
	});

	it("D21: a lost signal costs at most 5 s", async () => {
		const times: number[] = [];
		const { clock, loop, end, until } = await sample(async () => (times.push(clock.now()), { status: 200 }));
		loop.start();
		const row = await end();
		await until(async () => (await row()).state === "delivered");
		const other = await end({ lost: true });
		const ended = clock.now();
		await clock.advance(5000);
		await until(async () => (await other()).state === "delivered");
		expect(times[1]! - ended).toBeLessThanOrEqual(5000);
	});

	it("D21: what was not begun at a stop is left for the next start", async () => {
		const answers: (() => void)[] = [];
		const { clock, loop, end, until } = await sample(
			() => new Promise((resolve) => answers.push(() => resolve({ status: 200 }))),
		);
		loop.start();
		const rows = await Promise.all(Array.from({ length: 6 }, () => end()));
		await until(() => answers.length === 4);
		let over = false;
		const stop = loop.stop().finally(() => (over = true));
		await clock.advance(100);
		expect(over).toBe(false);
		for (const answer of answers) answer();
		await stop;
		const states = (await Promise.all(rows.map((row) => row()))).map(
			({ state, tries }) => `${state} after ${tries.length}`,
		);
		expect(states.toSorted()).toEqual([
			...Array.from({ length: 4 }, () => "delivered after 1"),
			"pending after 0",
			"pending after 0",
		]);
		expect(answers).toHaveLength(4);
	});

	it("D21: 600 receivers that hang delay neither another endpoint nor a receiver that answers", async () => {
		const sent: string[] = [];
		const { clock, loop, end, until, another } = await sample(({ url }) => {
			sent.push(url);
			return url.includes("hang")
				? clock.sleep(10_000).then(() => ({ error: "there was no answer within 10 s" }))
				: Promise.resolve({ status: 200 });
		});
		const started = clock.now();
		loop.start();
		const before = await end();
		await until(async () => (await before()).state === "delivered");
		await Promise.all(Array.from({ length: 600 }, (_, n) => end({ webhook: `http://hang${n}.example/` })));
		await until(() => sent.length > 10);
		const rows = [await end({ of: another() }), await end()];
		for (const row of rows) await until(async () => (await row()).state === "delivered");
		expect(clock.now()).toBe(started);
		expect(sent.filter((url) => url.includes("hang"))).toHaveLength(16);
	});

	it("D21: a receiver that never answers is paused, with an event; it is tried again after that", async () => {
		const times: number[] = [];
		const { clock, loop, emitted, end, until } = await sample(async () => {
			times.push(clock.now());
			return { error: "the connection was refused" };
		});
		loop.start();
		for (let n = 0; n < 3; n += 1) await end();
		while (times.length < 9) await clock.advance(10_000);
		await end();
		await until(() => emitted.includes("webhook.paused"));
		const paused = clock.now();
		const late = await end();
		await clock.advance(20_000);
		expect([(await late()).tries, times.length]).toEqual([[], 10]);
		await clock.advance(FIRST_PAUSE_MS - 20_000);
		await until(() => times.length > 10);
		expect(times[10]! - paused).toBe(FIRST_PAUSE_MS);
	});
});
