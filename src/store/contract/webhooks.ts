/** Webhook deliveries in the store's contract; rules: store.ts. */
import type { DeliveryState, DeliveryTry } from "../../core/delivery.ts";
import type { JsonText } from "../../core/json/json-text.ts";

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

/**
 * The step that ends a job with a webhook adds its delivery, by the rules of `core/delivery.ts`.
 */
export interface WebhookStore {
	/**
	 * Up to `limit` due deliveries, longest due first, with bodies of at most `maxBytes` characters
	 * in total (but at least one). No other caller gets them until `now + holdMs`.
	 */
	claim(q: {
		limit: number;
		maxBytes: number;
		holdMs: number;
		now: number;
	}): Promise<{ due: (DeliveryRow & { body: JsonText })[]; nextDueAt?: number | undefined }>;
	/** Stores a try and its effect; ignored for a delivery that is not pending. */
	tried(q: {
		id: string;
		tried: DeliveryTry;
		state: DeliveryState;
		dueAt?: number | undefined;
	}): Promise<void>;
	/** Makes a delivery due again, as if its job had just ended. Signals `delivery`. */
	redeliver(q: { id: string; now: number }): Promise<"due" | "missing" | "pending">;
	find(q: { id: string }): Promise<DeliveryRow | undefined>;
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
