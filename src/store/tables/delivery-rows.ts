/** Rows of webhook deliveries and of receivers that fail, with the same columns in both dialects. */
import type { ReceiverRow } from "../../core/receiver.ts";
import type { DeliveryState, DeliveryTry } from "../../core/delivery.ts";
import type { DeliveryRow } from "../contract/webhooks.ts";

/** Columns of `receivers` as {@link receiverFrom} reads them. */
export const RECEIVER_COLUMNS = [
	"endpoint",
	"receiver",
	"failing_since",
	"failures",
	"failed",
	"unanswered",
	"reason",
	"paused_until",
	"disabled_at",
];

export function receiverFrom(values: readonly unknown[]): ReceiverRow {
	const [endpoint, receiver, failingSince, failures, failed, unanswered, reason, paused, disabled] = values as [
		string,
		string,
		number,
		number,
		number,
		number,
		string,
		number | null,
		number | null,
	];
	return {
		endpoint,
		receiver,
		failingSince,
		failures,
		failed,
		unanswered,
		reason,
		pausedUntil: paused ?? undefined,
		disabledAt: disabled ?? undefined,
	};
}

/** The values of {@link RECEIVER_COLUMNS}. */
export function receiverValues(row: ReceiverRow): (string | number | null)[] {
	return [
		row.endpoint,
		row.receiver,
		row.failingSince,
		row.failures,
		row.failed,
		row.unanswered,
		row.reason,
		row.pausedUntil ?? null,
		row.disabledAt ?? null,
	];
}

/** A delivery and its number, by which lists are ordered. */
export interface NumberedDelivery extends DeliveryRow {
	number: number;
}

/** Returns the delivery as the contract does. */
export function withoutNumber(delivery: NumberedDelivery): DeliveryRow {
	const { id, endpoint, job, url, state, tries, used, createdAt, dueAt } = delivery;
	return { id, endpoint, job, url, state, tries, used, createdAt, dueAt };
}

/** Columns as {@link deliveryFrom} reads them. */
export const DELIVERY_COLUMNS = "number, id, endpoint, job, url, state, tries, used, created_at, due_at";

/** Reads a row that begins with {@link DELIVERY_COLUMNS}. PostgreSQL keeps URLs as JSON: its text has no U+0000. */
export function deliveryFrom(values: readonly unknown[]): NumberedDelivery {
	const [number, id, endpoint, job, url, state, tries, used, createdAt, dueAt] = values as [
		number,
		string,
		string,
		string,
		string,
		DeliveryState,
		string,
		number,
		number,
		number | null,
	];
	return {
		number,
		id,
		endpoint,
		job,
		url: url.startsWith('"') ? (JSON.parse(url) as string) : url,
		state,
		tries: JSON.parse(tries) as DeliveryTry[],
		used,
		createdAt,
		dueAt: dueAt ?? undefined,
	};
}
