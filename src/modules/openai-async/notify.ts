/** Notifies the webhook of a batch of its end (D57), signed as webhooks of jobs are (D21). */
import { waitsOf } from "../../kernel/core/webhooks.ts";
import type { Batch, Control, RunContext } from "./batch.ts";

/**
 * Resolves when the receiver has answered 200, or is given up. Throws as `Batch.save` does, and the reason of the
 * signal.
 */
export async function notify({ kernel }: RunContext, batch: Batch, { signal }: Control): Promise<void> {
	const { now, clock, endpoints, calendar } = kernel;
	const send = kernel.post({ allowPrivateNetworks: kernel.allowPrivateNetworks });
	for (;;) {
		const { notification, webhook, state } = batch.progress;
		if (!notification || webhook === undefined) return;
		await clock.sleep(notification.dueAt - now(), signal);
		signal.throwIfAborted();
		const secret = endpoints.webhookSecret(batch.row.endpoint);
		const secrets = secret.ok ? [secret.text, ...(secret.former ? [secret.former.text] : [])] : [];
		const body = JSON.stringify({
			id: notification.event,
			object: "event",
			type: `batch.${state}`,
			created_at: Math.floor((calendar.of(batch.progress.at[state as "completed"] ?? now()) as number) / 1000),
			data: { id: batch.row.id },
		});
		// A post that is not signed could be any caller's.
		const { status, final } = secret.ok
			? await send({ url: webhook, id: notification.event, body, secrets, signal })
			: { status: undefined, final: false };
		const wait = waitsOf("long")[notification.attempts];
		const isDone = status === 200 || final === true || wait === undefined;
		const next = isDone ? undefined : { ...notification, attempts: notification.attempts + 1, dueAt: now() + wait };
		await batch.save({ notification: next }, { isOpen: !isDone });
	}
}
