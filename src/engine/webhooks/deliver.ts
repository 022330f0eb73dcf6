/**
 * Sends the webhooks that are due (spec 6, D21), at least once: the store holds a delivery during an
 * attempt, so that one whose server died is sent again.
 */
import { afterTry, DELIVERY_KEPT_MS, waitsOf } from "../../core/delivery.ts";
import { PAUSE_AFTER, receiverOf, type ReceiverStanding } from "../../core/receiver.ts";
import { loop, type Service } from "../../service.ts";
import type { SendWebhook, WebhookAnswer } from "../../webhooks/sender.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { deliveryQueue, type LastAttempt, SEND_MS } from "./delivery-queue.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { DueDelivery } from "../../store/contract/webhooks.ts";

/** Deliveries claimed in one step, and those of one endpoint. */
const CLAIM_LIMIT = 500;
const CLAIM_EACH = 200;

/** How long the store holds a claimed delivery, ms: its wait here and its attempt. */
const HOLD_MS = SEND_MS + 8000;

/** Pause after a claim that found nothing to send although something is due, ms. */
const EMPTY_CLAIM_MS = 100;

/**
 * Maximum pause between two claims, ms: what a lost hint may cost. Shorter than the pause between two
 * attempts, so that no attempt is late.
 */
const CLAIM_MS = 4000;

/** Time between two removals of old deliveries, ms, and the most in one step. */
const EXPIRE_MS = 60_000;
const EXPIRE_LIMIT = 500;

/** How long sends may take when the service stops, ms. */
const STOP_MS = 5000;

/**
 * `stop` waits for sends in progress, at most {@link STOP_MS}: those cut off do not count as attempts
 * and are repeated.
 */
export interface WebhookDeliverer extends Service {
	/** A delivery is due. */
	nudge(): void;
}

export interface DelivererDeps extends Pick<EngineContext, "clock" | "now" | "events" | "retry" | "budgets"> {
	store: Pick<EngineContext["store"], "webhooks">;
	endpoints: Pick<Endpoints, "webhookSecret" | "webhookSettings">;
	send: SendWebhook;
	/** One server sends for all, within the limits of each receiver. */
	cluster: Pick<Cluster, "leads">;
}

export function webhookDeliverer(d: DelivererDeps): WebhookDeliverer {
	const { webhooks } = d.store;
	const queue = deliveryQueue(d.budgets);
	const sends = new Set<Promise<void>>();
	const cutOff = new AbortController();
	let stopping = false;
	let expiredAt = -Infinity;
	/** Endpoints that the last claim passed over. */
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
			for (const delivery of due) queue.add(delivery, now + HOLD_MS);
			sendNext();
			if (oldLeft) return 0;
			if (nextDueAt > now) return Math.min(CLAIM_MS, Math.max(0, nextDueAt - d.now()));
			if (due.length > 0) claims.nudge();
			return EMPTY_CLAIM_MS;
		},
	});

	async function expireOld(now: number): Promise<boolean> {
		if (now - expiredAt < EXPIRE_MS) return false;
		const removed = await webhooks.expire({
			before: now - DELIVERY_KEPT_MS,
			limit: EXPIRE_LIMIT,
		});
		if (removed >= EXPIRE_LIMIT) return true;
		expiredAt = now;
		return false;
	}

	function sendNext(): void {
		for (let delivery; !stopping && (delivery = queue.next(d.now())) !== undefined; ) {
			const taken = delivery;
			const end = deliver(taken)
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

	/**
	 * One attempt and its record; returns how it ended, if it was one. After an internal error the end
	 * of its hold makes it due again.
	 */
	async function deliver(delivery: DueDelivery): Promise<LastAttempt | undefined> {
		const { id, endpoint, job, url } = delivery;
		const at = d.now();
		const began = d.clock.now();
		const { sent, ...answered } = await answerTo(delivery);
		const tookMs = Math.max(0, d.clock.now() - began);
		const now = d.now();
		const { status, answer, error, final = false } = answered;
		const reason = error ?? `the receiver answered ${status}, not 200`;
		const { schedule, disableAfterMs } = d.endpoints.webhookSettings(endpoint);
		const used = delivery.used + 1;
		const after = afterTry({ status, used, final, now, schedule: waitsOf(schedule) });
		const standing = await d.retry(
			() =>
				webhooks.tried({
					id,
					tried: { at, tookMs, status, answer, error },
					...after,
					counts: sent
						? { reason, now, disableAfterMs: disableAfterMs === "off" ? undefined : disableAfterMs }
						: undefined,
				}),
			{ signal: cutOff.signal },
		);
		const facts = { endpoint, id: job, delivery: id, host: receiverOf(url) };
		if (after.state === "delivered") d.events.emit("webhook.delivered", facts);
		else
			d.events.emit("webhook.failed", {
				...facts,
				reason,
				retryMs: after.dueAt === undefined ? undefined : after.dueAt - now,
			});
		if (!sent) return undefined;
		if (standing?.unanswered === PAUSE_AFTER) announcePause(delivery, standing, now);
		if (standing?.disabledAt === now)
			d.events.emit("webhook.disabled", {
				endpoint,
				host: facts.host,
				reason,
				failingMs: now - standing.failingSince,
			});
		if (status !== undefined) return "answered";
		return (standing?.pausedUntil ?? 0) > now ? "paused" : "unanswered";
	}

	function announcePause({ endpoint, url }: DueDelivery, standing: ReceiverStanding, now: number) {
		const { reason, unanswered, pausedUntil = now } = standing;
		const host = receiverOf(url);
		d.events.emit("webhook.paused", {
			endpoint,
			host,
			reason,
			unanswered,
			retryMs: pausedUntil - now,
		});
	}

	/** `sent`: it was an attempt of the receiver. */
	async function answerTo({
		id,
		endpoint,
		url,
		body: claimed,
		disabledAt,
	}: DueDelivery): Promise<WebhookAnswer & { sent: boolean }> {
		if (disabledAt !== undefined)
			return {
				sent: false,
				error: "not sent: the receiver is disabled; enable it, then send it again",
				final: true,
			};
		const secret = d.endpoints.webhookSecret(endpoint);
		if (!secret.ok) {
			const reason =
				secret.why === "missing"
					? "the endpoint has no webhook secret"
					: "the webhook secret was stored under another SLUICE_SECRET";
			return { sent: false, error: `not sent: ${reason}; renew it` };
		}
		const secrets = secret.former ? [secret.text, secret.former.text] : [secret.text];
		const body = claimed ?? (await webhooks.body({ id }));
		if (body === undefined) return { sent: false, error: "not sent: the result of the job was erased", final: true };
		const answer = await d.send({ id, url, body, secrets, signal: cutOff.signal });
		return { ...answer, sent: answer.final !== true };
	}

	return {
		start: () => claims.start(),
		nudge: () => claims.nudge(),
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
