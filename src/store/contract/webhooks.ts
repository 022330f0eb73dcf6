/** Webhook deliveries in the store's contract. The rules of the contract: store.ts. */
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
	/** Tries since the end of the job, or since the last redelivery was requested. */
	used: number;
	createdAt: number;
	/**
	 * When the next try is due or, during a try, when it counts as lost; absent when the delivery is
	 * over.
	 */
	dueAt?: number | undefined;
}

/** Deliveries are added by the step that ends a job with a webhook, as `core/delivery.ts` says. */
export interface WebhookStore {
	/**
	 * Up to `limit` due deliveries, the longest due first, their bodies together at most `maxBytes`
	 * characters (but at least one). No other caller gets them until `now + holdMs`.
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
	/** Deliveries, the last made first, after `cursor`; an absent member filters nothing. */
	list(q: {
		endpoint?: string | undefined;
		job?: string | undefined;
		state?: DeliveryState | undefined;
		cursor?: string | undefined;
		limit: number;
	}): Promise<{ deliveries: DeliveryRow[]; next?: string | undefined }>;
	/** Removes up to `limit` finished deliveries made before `before` and returns their number. */
	expire(q: { before: number; limit: number }): Promise<number>;
}
