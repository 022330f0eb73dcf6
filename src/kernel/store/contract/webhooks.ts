import type { DeliveryState, DeliveryTry, ReceiverHealth } from "../../core/webhooks.ts";
import type { Operation } from "../../core/jobs/job.ts";
import type { JsonText } from "../../lib/json/json-text.ts";

export interface DeliveryRow {
	id: string;
	endpoint: string;
	job: string;
	url: string;
	state: DeliveryState;
	tries: DeliveryTry[];
	/** Attempts since the end of the job or the last redelivery request. */
	used: number;
	createdAt: number;
	/**
	 * When the next attempt is due or, during an attempt, when it counts as lost; absent when the delivery is finished.
	 */
	dueAt?: number | undefined;
}

/** Largest body that a claim returns. */
export const INLINE_BYTES = 8192;

export interface SizedDelivery extends DeliveryRow {
	/** Size of its body, 0 if it was dropped. */
	bytes: number;
}

export interface DueDelivery extends SizedDelivery {
	/** A larger body than {@link INLINE_BYTES} is read when it is sent. */
	body?: JsonText | undefined;
	/** Operation of its job, while the record of that is kept. */
	operation?: Operation | undefined;
	/** Size of the input of its job, 0 if that was erased. */
	inputBytes: number;
	/** `X-Request-Id` of its job, while the record of that is kept. */
	requestId?: string | undefined;
	trace?: string | undefined;
}

export interface WebhookStore {
	/**
	 * Claims up to `limit` due deliveries, at most `each` of one endpoint, longest due first. No other caller gets them
	 * until `now + holdMs`. Deliveries to a paused receiver become due at the end of its pause instead. `nextDueAt`
	 * leaves out the endpoints in `skip`.
	 */
	claim(q: {
		limit: number;
		each: number;
		skip: readonly string[];
		holdMs: number;
		now: number;
	}): Promise<{ due: DueDelivery[]; nextDueAt?: number | undefined }>;
	body(q: { id: string }): Promise<JsonText | undefined>;
	/** Reads the input of its job; undefined if it was erased or is damaged. */
	input(q: { id: string }): Promise<JsonText | undefined>;
	/**
	 * Records an attempt; ignored for a delivery that is not pending. With `counts` it counts for the receiver, whose
	 * health after it is returned.
	 */
	tried(q: {
		id: string;
		tried: DeliveryTry;
		state: DeliveryState;
		dueAt?: number | undefined;
		counts?: { now: number } | undefined;
	}): Promise<ReceiverHealth | undefined>;
	/**
	 * Returns the number of pending deliveries by endpoint, counted up to `atMost`, and when the first of them is due.
	 */
	pending(q: { atMost: number }): Promise<{ endpoint: string; count: number; oldestDueAt: number }[]>;
	/** Makes a finished delivery due again. Signals `delivery`. */
	redeliver(q: { id: string; now: number }): Promise<"due" | "missing" | "pending">;
	find(q: { id: string }): Promise<SizedDelivery | undefined>;
	/** Lists deliveries, newest first, after `cursor`. */
	list(q: {
		endpoint?: string | undefined;
		job?: string | undefined;
		state?: DeliveryState | undefined;
		cursor?: string | undefined;
		limit: number;
	}): Promise<{ deliveries: DeliveryRow[]; next?: string | undefined }>;
	/** Removes finished deliveries that ended before `before`; returns their number. */
	expire(q: { before: number; limit: number }): Promise<number>;
}
