/**
 * Sends the webhooks that are due (spec 6, D21). At least once: the store holds a delivery for the
 * time of a try, so that one whose server died is sent again.
 */
import type { Clock } from "../../clock.ts";
import { afterTry, DELIVERY_KEPT_MS } from "../../core/delivery.ts";
import { ApiError } from "../../core/errors.ts";
import type { EventBus } from "../../events.ts";
import { loop } from "../../service.ts";
import type { DeliveryRow, WebhookStore } from "../../store/contract/webhooks.ts";
import type { SendWebhook, WebhookAnswer } from "../../webhooks/sender.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { deliveryQueue, hostOf, SEND_MS } from "./delivery-queue.ts";
import type { Delivery } from "./delivery-queue.ts";
import type { RetryWhileUnavailable } from "../availability/retry-while-unavailable.ts";
import type { WebhookSecrets } from "./webhook-secrets.ts";

/** Deliveries claimed in one step. */
const CLAIM_LIMIT = 100;

/** How long the store holds a claimed delivery for us, ms: its wait here and its try. */
const HOLD_MS = SEND_MS + 8000;

/** Pause before more are claimed while earlier ones wait here, ms. */
const PATIENCE_MS = 100;

/**
 * Longest pause between two looks, ms: what a lost hint may cost. Shorter than the pause between
 * two tries, so that each next try is seen before it is due.
 */
const LOOK_MS = 4000;

/** Time between two removals of old deliveries, ms, and how many go in one step. */
const EXPIRE_MS = 60_000;
const EXPIRE_LIMIT = 500;

/** How long sends under way get when the service stops, ms. */
const STOP_MS = 5000;

/** The loop of deliveries. */
export interface WebhookDeliverer {
	start(): void;
	/** A delivery is due: looks now. */
	nudge(): void;
	/**
	 * Ends after the sends under way, but at most {@link STOP_MS} later: those cut off do not count
	 * as tries and come again.
	 */
	stop(): Promise<void>;
}

interface Deps {
	clock: Clock;
	now: () => number;
	webhooks: WebhookStore;
	events: EventBus;
	hold: RetryWhileUnavailable;
	secrets: WebhookSecrets;
	send: SendWebhook;
	/** One server sends for all: a receiver gets no more at once, and none looks in vain. */
	cluster: Pick<Cluster, "leads">;
}

/** Delivering over the store's deliveries. */
export function webhookDeliverer(d: Deps): WebhookDeliverer {
	const queue = deliveryQueue();
	const underWay = new Set<Promise<void>>();
	const cutOff = new AbortController();
	let stopping = false;
	let expiredAt = -Infinity;

	const looking = loop({
		clock: d.clock,
		retryMs: LOOK_MS,
		onError: (error) => d.events.emit("fault", { where: "claiming webhook deliveries", error }),
		step: async () => {
			const now = d.now();
			queue.dropLate(now);
			if (!d.cluster.leads("deliveries")) return LOOK_MS;
			const oldLeft = await expireOld(now);
			if (queue.room === 0) return PATIENCE_MS;
			const { due, nextDueAt = Infinity } = await d.webhooks.claim({
				limit: CLAIM_LIMIT,
				maxBytes: queue.room,
				holdMs: HOLD_MS,
				now,
			});
			for (const delivery of due) queue.add(delivery, now + HOLD_MS);
			begin();
			if (oldLeft) return 0;
			const wait = Math.min(LOOK_MS, Math.max(0, nextDueAt - d.now()));
			return queue.waiting > 0 ? Math.max(wait, PATIENCE_MS) : wait;
		},
	});

	async function expireOld(now: number): Promise<boolean> {
		if (now - expiredAt < EXPIRE_MS) return false;
		const removed = await d.webhooks.expire({
			before: now - DELIVERY_KEPT_MS,
			limit: EXPIRE_LIMIT,
		});
		if (removed >= EXPIRE_LIMIT) return true;
		expiredAt = now;
		return false;
	}

	function begin(): void {
		for (let delivery; !stopping && (delivery = queue.next(d.now())) !== undefined; ) {
			const taken = delivery;
			const end = deliver(taken)
				.catch((error: unknown) => {
					if (!cutOff.signal.aborted)
						d.events.emit("fault", { where: `webhook delivery ${taken.id}`, error });
				})
				.finally(() => {
					underWay.delete(end);
					queue.done(taken);
					begin();
					if (queue.waiting === 0) looking.nudge();
				});
			underWay.add(end);
		}
	}

	/** One try and its note. A fault of our own leaves the delivery to the end of its hold. */
	async function deliver(delivery: Delivery): Promise<void> {
		const { id, endpoint, job, url } = delivery;
		const at = d.now();
		const answer = await answerTo(delivery);
		const now = d.now();
		const { status, error, final } = answer;
		const after = afterTry({ status, used: delivery.used + 1, final: final ?? false, now });
		await d.hold(
			() => d.webhooks.tried({ id, tried: { at, tookMs: now - at, status, error }, ...after }),
			{ signal: cutOff.signal },
		);
		const facts = { endpoint, id: job, delivery: id, host: hostOf(url) };
		if (after.state === "delivered") d.events.emit("webhook.delivered", facts);
		else
			d.events.emit("webhook.failed", {
				...facts,
				reason: error ?? `the receiver answered ${status}, not 200`,
				retryMs: after.dueAt === undefined ? undefined : after.dueAt - now,
			});
	}

	async function answerTo({ id, endpoint, url, body }: Delivery): Promise<WebhookAnswer> {
		const secret = d.secrets.of(endpoint);
		if (secret.ok)
			return await d.send({ id, url, body, secret: secret.text, signal: cutOff.signal });
		return {
			error: `not sent: ${secret.why === "missing" ? "the endpoint has no webhook secret" : "the webhook secret was kept under another SLUICE_SECRET"}; give it a new one`,
		};
	}

	return {
		start: () => looking.start(),
		nudge: () => looking.nudge(),
		async stop() {
			stopping = true;
			await looking.stop();
			const ended = new AbortController();
			void d.clock.sleep(STOP_MS, ended.signal).then(() => cutOff.abort());
			await Promise.all(underWay);
			ended.abort();
		},
	};
}

/** A delivery. Throws `delivery_not_found`. */
export async function delivery(webhooks: WebhookStore, id: string): Promise<DeliveryRow> {
	const found = await webhooks.find({ id });
	if (!found) throw new ApiError("delivery_not_found", { delivery: id });
	return found;
}

/** Makes a delivery that is over due again. Throws `delivery_not_found` and `delivery_pending`. */
export async function redeliver(
	{ webhooks, now }: { webhooks: WebhookStore; now: () => number },
	id: string,
): Promise<void> {
	const outcome = await webhooks.redeliver({ id, now: now() });
	if (outcome === "missing") throw new ApiError("delivery_not_found", { delivery: id });
	if (outcome === "pending") throw new ApiError("delivery_pending", { delivery: id });
}
