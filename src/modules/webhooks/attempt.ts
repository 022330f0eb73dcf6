/** One attempt at a webhook's receiver (spec 6, D21). */
import { clientTrace } from "../../kernel/core/trace.ts";
import { PAUSE_AFTER, receiverOf, waitsOf } from "../../kernel/core/webhooks.ts";
import type { JsonText } from "../../kernel/lib/json/json-text.ts";
import type { DueDelivery } from "../../kernel/store/contract/webhooks.ts";
import type { SignedPost, PostAnswer } from "../../kernel/post/contract.ts";
import type { Cluster } from "../../kernel/engine/cluster/cluster.ts";
import type { EngineContext } from "../../kernel/engine/context.ts";
import type { Endpoints } from "../../kernel/engine/endpoints/endpoints.ts";
import { busOf } from "../../kernel/events.ts";
import type { LastAttempt } from "./delivery-queue.ts";
import type { EVENTS } from "./events.ts";
import { afterTry, sentBody } from "./schedule.ts";

export interface WebhooksContext extends EngineContext {
	endpoints: Endpoints;
	/** One server sends for all, within the limits of each receiver. */
	cluster: Cluster;
	send: SignedPost;
}

/**
 * Makes one attempt. Undefined if the receiver was not called. After an internal error the end of its hold makes the
 * delivery due again. `signal` ends the attempt without a record.
 */
export async function attempt(
	d: WebhooksContext,
	delivery: DueDelivery,
	signal: AbortSignal,
): Promise<LastAttempt | undefined> {
	const { id, endpoint, job, url } = delivery;
	const at = d.now();
	const began = d.clock.now();
	const { sent, status, answer, error, final = false } = await answerTo(d, delivery, signal);
	const tookMs = Math.max(0, d.clock.now() - began);
	const now = d.now();
	const reason = error ?? `the receiver answered ${status}, not 200`;
	const { schedule } = d.endpoints.webhookSettings(endpoint);
	const used = delivery.used + 1;
	const after = afterTry({ status, used, final, now, schedule: waitsOf(schedule) });
	const tried = { id, tried: { at, tookMs, status, answer, error }, ...after, counts: sent ? { now } : undefined };
	const health = await d.retry(() => d.store.webhooks.tried(tried), { signal });
	const host = receiverOf(url);
	const facts = { endpoint, id: job, delivery: id, host };
	const retryMs = after.dueAt === undefined ? undefined : after.dueAt - now;
	if (after.state === "delivered") d.events.emit("webhook.delivered", facts);
	else d.events.emit("webhook.failed", { ...facts, reason, retryMs });
	if (!sent) return undefined;
	const pausedMs = (health?.pausedUntil ?? now) - now;
	if (health?.unanswered === PAUSE_AFTER)
		busOf<typeof EVENTS>(d.events).emit("webhook.paused", {
			endpoint,
			host,
			reason,
			unanswered: PAUSE_AFTER,
			retryMs: pausedMs,
		});
	if (status !== undefined) return "answered";
	return pausedMs > 0 ? "paused" : "unanswered";
}

async function answerTo(
	d: WebhooksContext,
	delivery: DueDelivery,
	signal: AbortSignal,
): Promise<PostAnswer & { sent: boolean }> {
	const { id, endpoint, job, url, requestId, trace } = delivery;
	const secret = d.endpoints.webhookSecret(endpoint);
	if (!secret.ok) {
		const reason =
			secret.why === "missing"
				? "the endpoint has no webhook secret"
				: "the webhook secret was stored under another SLUICE_SECRET";
		return { sent: false, error: `not sent: ${reason}; renew it` };
	}
	const secrets = secret.former ? [secret.text, secret.former.text] : [secret.text];
	const body = await bodyOf(d, delivery);
	if (body === undefined) return { sent: false, error: "not sent: the result of the job was erased", final: true };
	const traced = d.hooks.traces?.delivery({ job: { id: job, endpoint, trace }, delivery: id, url });
	const context = traced ? traced.context : clientTrace({ trace });
	const answer = await d.send({ id, url, body, secrets, requestId, trace: context, signal });
	traced?.end(answer);
	return { ...answer, sent: answer.final !== true };
}

/** Undefined if the result was erased. */
async function bodyOf({ hooks, store }: WebhooksContext, delivery: DueDelivery): Promise<JsonText | undefined> {
	const own = hooks.webhookBody?.(delivery);
	if (own !== undefined) return await own;
	const { id, url, body: claimed, inputBytes } = delivery;
	const stored = claimed ?? (await store.webhooks.body({ id }));
	if (stored === undefined) return undefined;
	const input = inputBytes > 0 ? await store.webhooks.input({ id }) : undefined;
	return sentBody(stored, { url, input });
}
