/**
 * Sends due webhooks at least once (spec 6, D21): the store holds a delivery during an attempt, so that one whose
 * server died is sent again.
 */
import { loop, type Loop } from "../../kernel/system/loop.ts";
import { attempt, type WebhooksContext } from "./attempt.ts";
import { DeliveryQueue, SEND_MS } from "./delivery-queue.ts";
import { DELIVERY_KEPT_MS } from "./schedule.ts";

const CLAIM_LIMIT = 500;
const CLAIM_EACH = 200;

/** How long the store holds a claimed delivery, ms: its wait in this server and its attempt. */
const HOLD_MS = SEND_MS + 8000;

/** Pause after a claim that found nothing to send although something is due. */
const EMPTY_CLAIM_MS = 100;

/**
 * Maximum pause between two claims, ms: the longest delay by a lost signal. Shorter than the pause between two
 * attempts, so that no attempt is late.
 */
const CLAIM_MS = 4000;

const EXPIRE_MS = 60_000;
const EXPIRE_LIMIT = 500;

const STOP_MS = 5000;

export function webhookDeliverer(d: WebhooksContext): Loop {
	const { webhooks } = d.store;
	const queue = new DeliveryQueue(d.budgets);
	const sends = new Set<Promise<void>>();
	const cutOff = new AbortController();
	let stopping = false;
	let expiredAt = -Infinity;
	let skipped: string[] = [];

	const claims = loop({
		clock: d.clock,
		retryMs: CLAIM_MS,
		onError: (error) => d.events.emit("fault", { where: "claiming webhook deliveries", error }),
		step: async () => {
			const now = d.now();
			queue.dropLate(now);
			if (!d.cluster.leads("deliveries")) return CLAIM_MS;
			const oldLeft = await expireOld(now);
			skipped = queue.full;
			const { due, nextDueAt = Infinity } = await webhooks.claim({
				limit: CLAIM_LIMIT,
				each: CLAIM_EACH,
				skip: skipped,
				holdMs: HOLD_MS,
				now,
			});
			for (const delivery of due) {
				// The input is read from the store only if it is sent.
				const inputBytes = d.endpoints.webhookSettings(delivery.endpoint).input ? delivery.inputBytes : 0;
				queue.add({ ...delivery, inputBytes, bytes: delivery.bytes + inputBytes }, now + HOLD_MS);
			}
			sendNext();
			if (oldLeft) return 0;
			if (nextDueAt > now) return Math.min(CLAIM_MS, Math.max(0, nextDueAt - d.now()));
			if (due.length > 0) claims.nudge();
			return EMPTY_CLAIM_MS;
		},
	});

	async function expireOld(now: number): Promise<boolean> {
		if (now - expiredAt < EXPIRE_MS) return false;
		const removed = await webhooks.expire({ before: now - DELIVERY_KEPT_MS, limit: EXPIRE_LIMIT });
		if (removed >= EXPIRE_LIMIT) return true;
		expiredAt = now;
		return false;
	}

	function sendNext(): void {
		for (let delivery; !stopping && (delivery = queue.next(d.now())) !== undefined; ) {
			const taken = delivery;
			const end = attempt(d, taken, cutOff.signal)
				.catch((error: unknown) => {
					if (!cutOff.signal.aborted) d.events.emit("fault", { where: `webhook delivery ${taken.id}`, error });
					return undefined;
				})
				.then((last) => {
					sends.delete(end);
					queue.done(taken, last);
					sendNext();
					const hasRoom = skipped.length > 0 && queue.full.length < skipped.length;
					if (queue.waiting === 0 || hasRoom) claims.nudge();
				});
			sends.add(end);
		}
	}

	return {
		start: claims.start,
		nudge: claims.nudge,
		/** Waits at most {@link STOP_MS}: sends that are cut off do not count as attempts and are repeated. */
		async stop() {
			stopping = true;
			await claims.stop();
			const ended = new AbortController();
			void d.clock.sleep(STOP_MS, ended.signal).then(() => cutOff.abort());
			await Promise.all(sends);
			ended.abort();
		},
	};
}
