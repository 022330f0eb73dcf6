/** Rows of small tables with the same columns in both dialects. */
import type { ReceiverRow } from "../core/receiver.ts";
import type { DeliveryState, DeliveryTry } from "../core/delivery.ts";
import type { NumberedDelivery } from "./operations/steps.ts";

/** Columns as {@link receiverFrom} reads them, of `receivers`. */
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

/** Columns as {@link deliveryFrom} reads them. */
export const DELIVERY_COLUMNS = "number, id, endpoint, job, url, state, tries, used, created_at, due_at";

/** Its URL as stored. */
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
		url,
		state,
		tries: JSON.parse(tries) as DeliveryTry[],
		used,
		createdAt,
		dueAt: dueAt ?? undefined,
	};
}
