/** Webhook deliveries in the store's contract; rules: store.ts. */
import type { DeliveryState, DeliveryTry } from "../../core/delivery.ts";
import type { JsonText } from "../../core/json/json-text.ts";
import type { ReceiverRow, ReceiverHealth } from "../../core/receiver.ts";

/** A webhook delivery without its body. */
export interface DeliveryRow {
	id: string;
	endpoint: string;
	job: string;
	url: string;
	state: DeliveryState;
	/** The last tries, oldest first. */
	tries: DeliveryTry[];
	/** Tries since the end of the job or the last redelivery request. */
	used: number;
	createdAt: number;
	/**
	 * When the next try is due or, during a try, when it counts as lost; absent when the delivery is
	 * finished.
	 */
	dueAt?: number | undefined;
}

/** Largest body that a claim returns. */
export const INLINE_BYTES = 8192;

export interface SizedDelivery extends DeliveryRow {
	/** Size of its body, 0 if it was dropped. */
	bytes: number;
}

/** A delivery that is due. */
export interface DueDelivery extends SizedDelivery {
	/** Body of at most {@link INLINE_BYTES}; a larger one is read when it is sent. */
	body?: JsonText | undefined;
	/** Since when its receiver is disabled. */
	disabledAt?: number | undefined;
}

/**
 * The step that ends a job with a webhook adds its delivery, by the rules of `core/delivery.ts`.
 */
export interface WebhookStore {
	/**
	 * Up to `limit` due deliveries, at most `each` of one endpoint and none of those in `skip`,
	 * longest due first. No other caller gets them until `now + holdMs`. Those of a paused receiver
	 * become due at its end instead. `nextDueAt` is without the endpoints in `skip`.
	 */
	claim(q: {
		limit: number;
		each: number;
		skip: readonly string[];
		holdMs: number;
		now: number;
	}): Promise<{ due: DueDelivery[]; nextDueAt?: number | undefined }>;
	/** The body of a delivery; undefined if there is none. */
	body(q: { id: string }): Promise<JsonText | undefined>;
	/**
	 * Stores a try and its effect; ignored for a delivery that is not pending. With `counts` it is an
	 * attempt of the receiver, whose health after it is returned.
	 */
	tried(q: {
		id: string;
		tried: DeliveryTry;
		state: DeliveryState;
		dueAt?: number | undefined;
		counts?: { reason: string; disableAfterMs?: number | undefined; now: number } | undefined;
	}): Promise<ReceiverHealth | undefined>;
	/** Receivers whose last attempt failed, failing longest first. */
	receivers(q: { endpoint?: string | undefined; limit: number }): Promise<ReceiverRow[]>;
	/**
	 * Ends pause and disabling of a receiver; its pending deliveries are due, but for those that an
	 * attempt holds. Signals `delivery`. False if it is not failing.
	 */
	enable(q: { endpoint: string; receiver: string; now: number }): Promise<boolean>;
	/** Pending deliveries of each endpoint that has some; of one with more than `atMost`, that many. */
	pending(q: { atMost: number }): Promise<{ endpoint: string; count: number }[]>;
	/** Makes a delivery due again, as if its job had just ended. Signals `delivery`. */
	redeliver(q: { id: string; now: number }): Promise<"due" | "missing" | "pending">;
	find(q: { id: string }): Promise<SizedDelivery | undefined>;
	/** Deliveries, newest first, after `cursor`; an absent member filters nothing. */
	list(q: {
		endpoint?: string | undefined;
		job?: string | undefined;
		state?: DeliveryState | undefined;
		cursor?: string | undefined;
		limit: number;
	}): Promise<{ deliveries: DeliveryRow[]; next?: string | undefined }>;
	/** Removes up to `limit` finished deliveries created before `before` and returns their number. */
	expire(q: { before: number; limit: number }): Promise<number>;
}
