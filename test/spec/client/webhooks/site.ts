/**
 * What the tests of section 6 share: a service on a clock turned by hand, a receiver on loopback,
 * and an endpoint with a path of the receiver's for each test.
 */
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import type { Clock } from "../../../../src/kernel/system/clock.ts";
import type { Events } from "../../../../src/kernel/events.ts";
import type { DeliveryRow } from "../../../../src/kernel/store/contract/webhooks.ts";
import { manualClock, type ManualClock } from "../../../support/manual-clock.ts";
import { call, startService, type TestService } from "../../../support/service.ts";
import { type Received, type Reply, webhookReceiver, type WebhookReceiver } from "../../../support/webhook-receiver.ts";
import { atOnce, endWith, endpointsByName, submitted } from "../../hand-worker.ts";

/** Settings of a service that may call receivers on loopback. */
export const ALLOW = { webhooks: { allowPrivateNetworks: true } };

/** The webhook secret of every endpoint of the site. */
export const SECRET = `whsec_${Buffer.alloc(32, 5).toString("base64")}`;

/** The site of one test file. */
export interface WebhookSite {
	/**
	 * The hand of the clock. Time may only pass {@link POST_TIMEOUT_MS} while no try is in
	 * flight: real sockets do not hurry with it.
	 */
	hand: ManualClock;
	clock: Clock;
	/** Time passes without anybody being woken. */
	jump(ms: number): void;
	endpoints: Record<string, object>;
	readonly service: TestService;
	readonly receiver: WebhookReceiver;
	/** Endpoint and path of this test. */
	readonly ep: string;
	readonly path: string;
	/** The webhook URL of this test. */
	readonly hook: string;
	/**
	 * What the receiver answers on a path (this test's by default), by the number of the request; 200
	 * where nothing is said.
	 */
	reply(answer: (number: number) => Reply, path?: string): void;
	submit(extra?: object, of?: TestService): Promise<string>;
	cancel(id: string, of?: TestService): ReturnType<typeof call>;
	/** A job that ends at once. */
	ended(extra?: object, of?: TestService): Promise<string>;
	/** Deliveries of a job, the last made first. */
	deliveries(job: string, of?: TestService): Promise<DeliveryRow[]>;
	/** The only one. */
	deliveryOf(job: string, of?: TestService): Promise<DeliveryRow>;
	/** The only one when it is over; time passes from pause to pause. */
	over(job: string, of?: TestService): Promise<DeliveryRow>;
	/** The requests on this test's path, when so many are there. */
	arrived(count: number): Promise<Received[]>;
	readonly count: number;
	/** The next such event of a job. */
	delivered(job: string, of?: TestService): Promise<Events["webhook.delivered"]>;
	failed(job: string, of?: TestService): Promise<Events["webhook.failed"]>;
}

/** Longer than a pause, shorter than the store's hold on a delivery in flight, ms. */
const PAUSE_MS = 10_000;

/** Starts the site for all tests of a file. */
export function webhookSite(): WebhookSite {
	// The official library takes only signatures of the present, so the clock starts there.
	const hand = manualClock(Date.now());
	let skew = 0;
	const now = (): number => hand.now() + skew;
	const clock: Clock = { now, wall: now, sleep: hand.sleep };
	const unused = endpointsByName(60, { limits: "off", webhookSecret: SECRET });
	const replies = new Map<string, (number: number) => Reply>();
	let receiver: WebhookReceiver;
	let service: TestService;
	let ep: string;

	beforeAll(async () => {
		receiver = await webhookReceiver({
			reply: (request, number) => replies.get(request.path)?.(number) ?? 200,
		});
		service = await startService({
			endpoints: unused.settings,
			settings: ALLOW,
			clock,
			pauseMs: Infinity,
		});
	});
	beforeEach(() => void (ep = unused.next()));
	afterAll(async () => {
		await endWith(service, hand);
		await receiver.end();
	});

	const site: WebhookSite = {
		hand,
		clock,
		jump(ms) {
			skew += ms;
			service.leapt();
		},
		endpoints: unused.settings,
		get service() {
			return service;
		},
		get receiver() {
			return receiver;
		},
		get ep() {
			return ep;
		},
		get path() {
			return `/${ep}`;
		},
		get hook() {
			return receiver.url + site.path;
		},
		reply: (answer, path = site.path) => void replies.set(path, answer),
		submit: (extra = {}, of = service) => submitted(of, ep, { input: {}, webhook: site.hook, ...extra }),
		cancel: (id, of = service) => call(of.url, `/v2/${ep}/cancel/${id}`, { method: "POST" }),
		async ended(extra, of) {
			const id = await site.submit(extra, of);
			expect((await site.cancel(id, of)).json.status).toBe("CANCELLED");
			return id;
		},
		deliveries: async (job, of = service) =>
			(await of.engine.kernel.store.webhooks.list({ job, limit: 100 })).deliveries,
		async deliveryOf(job, of) {
			const [only, ...others] = await site.deliveries(job, of);
			expect(others).toEqual([]);
			return only!;
		},
		async over(job, of) {
			for (;;) {
				const row = await site.deliveryOf(job, of);
				if (row.state !== "pending") return row;
				const pause = row.dueAt! - clock.now();
				// One in flight is held for longer than a pause.
				await hand.advance(pause <= PAUSE_MS ? Math.max(0, pause) : 0);
			}
		},
		arrived: (count) => atOnce(hand, receiver.arrived(count, site.path)),
		get count() {
			return receiver.received.filter((each) => each.path === site.path).length;
		},
		delivered: (job, of = service) => of.next("webhook.delivered", ({ id }) => id === job),
		failed: (job, of = service) => of.next("webhook.failed", ({ id }) => id === job),
	};
	return site;
}
