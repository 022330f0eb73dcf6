/** Sends messages about alerts to receivers, and repeats failed ones (D53). What was sent is kept in memory only. */
import { createHash } from "node:crypto";
import type { EVENTS } from "./events.ts";
import { alertMessage, testMessage } from "./message.ts";
import { type AlertReceiver, type AlertSettings, receiverNames } from "./settings.ts";
import { type Alert, alertView, dueTo, type Firing, keyOf, type Sent } from "./state.ts";
import { busOf } from "../../kernel/events.ts";
import { hex } from "../../kernel/lib/ids.ts";
import type { SendAlert } from "./contract.ts";
import type { EngineContext } from "../../kernel/engine/context.ts";

/** Wait after a failed message, doubled by each further failure, ms. */
const FIRST_RETRY_MS = 15_000;
const LONGEST_RETRY_MS = 900_000;

export interface NotifierContext extends EngineContext {
	send: SendAlert;
	/** Address of the service. */
	url: Promise<string>;
}

interface Recipient {
	name: string;
	receiver: AlertReceiver;
	sent: Sent;
	/** Failures since the last message that was accepted. */
	failures: number;
	retryAt: number;
	/** The message in flight: a receiver that hangs delays neither the rules nor other receivers. */
	sending?: Promise<void> | undefined;
}

export function alertNotifier(d: NotifierContext, { receivers, repeatMs }: Omit<AlertSettings, "rules">) {
	const { send, now, calendar } = d;
	const events = busOf<typeof EVENTS>(d.events);
	const names = receiverNames(receivers);
	const stopped = new AbortController();
	const recipients = receivers.map(
		(receiver, index): Recipient => ({ name: names[index]!, receiver, sent: new Map(), failures: 0, retryAt: 0 }),
	);

	async function viewer() {
		const url = await d.url;
		const iso = (at: number): string => new Date(calendar.of(at)).toISOString();
		return (alert: Alert) => alertView(alert, { url, iso });
	}

	/** Sends one message with these alerts. */
	async function deliver(to: Recipient, alerts: readonly Alert[]): Promise<void> {
		const { name, receiver, sent } = to;
		const at = now();
		const ended = new Set(alerts.filter(({ resolvedAt }) => resolvedAt !== undefined));
		const message = alertMessage(idOf(alerts, sent), alerts.map(await viewer()));
		// A receiver may have read a message that it did not accept, so it gets the end of each alert.
		for (const alert of alerts) sent.set(keyOf(alert), { alert, at: sent.get(keyOf(alert))?.at });
		const reason = await send(receiver, message, stopped.signal);
		if (reason === undefined) {
			to.failures = 0;
			for (const alert of alerts)
				if (ended.has(alert)) sent.delete(keyOf(alert));
				else sent.set(keyOf(alert), { alert, at });
			return;
		}
		const retryMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** to.failures);
		to.failures = Math.min(to.failures + 1, 20);
		to.retryAt = now() + retryMs;
		events.emit("alert.unsent", { receiver: name, reason, retryMs });
	}

	function onError(error: unknown): void {
		if (!stopped.signal.aborted) events.emit("fault", { where: "sending alerts", error });
	}

	return {
		names,
		viewer,
		/** Starts sending the messages that are due. */
		notify(firing: Firing, isSilenced: (alert: Alert) => boolean): void {
			for (const to of recipients) {
				if (to.sending) continue;
				const due = dueTo(to.sent, firing, { now: now(), repeatMs, isSilenced });
				if (due.length === 0 || now() < to.retryAt) continue;
				to.sending = deliver(to, due)
					.catch(onError)
					.finally(() => (to.sending = undefined));
			}
		},
		/** Returns the time of the last message about the alert, if all receivers have accepted one. */
		notifiedAt(alert: Alert): number | undefined {
			const times = recipients.map(({ sent }) => sent.get(keyOf(alert))?.at);
			const accepted = times.filter((at) => at !== undefined);
			return accepted.length === 0 || accepted.length < times.length ? undefined : Math.max(...accepted);
		},
		/** Sends a test message to each receiver, and returns for each why it was not accepted. */
		async test(): Promise<{ receiver: string; error: string | undefined }[]> {
			const message = testMessage(`alert_${hex(d.random(8))}`);
			const errors = await Promise.all(receivers.map((each) => send(each, message, stopped.signal)));
			return errors.map((error, index) => ({ receiver: names[index]!, error }));
		},
		/** Aborts messages in flight; `ended` waits for that. */
		stop: (): void => stopped.abort(),
		async ended(): Promise<void> {
			await Promise.all(recipients.flatMap(({ sending }) => sending ?? []));
		},
	};
}

/** Returns the id of a message, the same for each attempt: receivers of webhooks recognise repeats by it. */
function idOf(alerts: readonly Alert[], sent: Sent): string {
	const parts = alerts.map((alert) => [keyOf(alert), alert.since, sent.get(keyOf(alert))?.at, alert.resolvedAt]);
	return `alert_${createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32)}`;
}
