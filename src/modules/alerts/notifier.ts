/** Sends messages about alerts to receivers, and repeats those that failed (D53). */
import { createHash } from "node:crypto";
import type { EVENTS } from "./events.ts";
import { alertMessage, testMessage } from "./message.ts";
import { type AlertSettings, receiverNames } from "./settings.ts";
import { type Alert, alertView, keyOf } from "./state.ts";
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

export function alertNotifier(d: NotifierContext, { receivers }: Pick<AlertSettings, "receivers">) {
	const { send, now, calendar } = d;
	const events = busOf<typeof EVENTS>(d.events);
	const names = receiverNames(receivers);
	const stopped = new AbortController();
	const failures = new Map<string, { count: number; retryAt: number }>();

	async function viewer() {
		const url = await d.url;
		const iso = (at: number): string => new Date(calendar.of(at)).toISOString();
		return (alert: Alert) => alertView(alert, { url, iso });
	}

	return {
		names,
		viewer,
		/** Sends one message with these alerts. Returns whether the receiver accepted it. */
		async notify(name: string, alerts: readonly Alert[]): Promise<boolean> {
			const { count = 0, retryAt = 0 } = failures.get(name) ?? {};
			if (alerts.length === 0 || now() < retryAt) return false;
			const message = alertMessage(idOf(alerts), alerts.map(await viewer()));
			const reason = await send(receivers[names.indexOf(name)]!, message, stopped.signal);
			failures.delete(name);
			if (reason === undefined) return true;
			const retryMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** count);
			failures.set(name, { count: Math.min(count + 1, 20), retryAt: now() + retryMs });
			events.emit("alert.unsent", { receiver: name, reason, retryMs });
			return false;
		},
		/** Sends a test message to each receiver, and returns for each why it was not accepted. */
		async test(): Promise<{ receiver: string; error: string | undefined }[]> {
			const message = testMessage(`alert_${hex(d.random(8))}`);
			const errors = await Promise.all(receivers.map((each) => send(each, message, stopped.signal)));
			return errors.map((error, index) => ({ receiver: names[index]!, error }));
		},
		stopped: stopped.signal,
		/** Aborts messages in flight. */
		stop: (): void => stopped.abort(),
	};
}

/** Returns the id of a message, the same for each attempt: receivers of webhooks recognise repeats by it. */
function idOf(alerts: readonly Alert[]): string {
	const parts = alerts.map((alert) => [keyOf(alert), alert.notifiedAt, alert.resolvedAt]);
	return `alert_${createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32)}`;
}
