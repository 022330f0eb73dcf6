/**
 * Webhook deliveries: what is sent at the end of a job, and when it is tried again (spec 6, D21).
 * Pure; sending is elsewhere.
 */
import { asOne } from "./json/json-text.ts";
import type { JsonText } from "./json/json-text.ts";
import { jobView } from "./job-view.ts";
import type { JobResult } from "./job-view.ts";

/** Tries of one delivery: the first and 2 more (spec 6). */
export const DELIVERY_TRIES = 3;

/** From the failure of a try to the next one, ms (spec 6). */
export const DELIVERY_PAUSE_MS = 10_000;

/** Longest time of one try, ms. */
export const DELIVERY_TIMEOUT_MS = 10_000;

/** How long deliveries are kept, ms. */
export const DELIVERY_KEPT_MS = 7 * 86_400_000;

/** Tries that a record keeps, the last ones: redelivering adds to them. */
export const DELIVERY_HISTORY = 30;

/** `pending` while a try is due or under way. */
export const DELIVERY_STATES = ["pending", "delivered", "failed"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** One try: what the receiver answered, or why nothing was sent or came back. */
export interface DeliveryTry {
	/** When it began, ms since the epoch. */
	at: number;
	/** How long it took, ms. */
	tookMs: number;
	/** HTTP status of the answer. */
	status?: number | undefined;
	/** Why there is no answer; never holds the URL. */
	error?: string | undefined;
}

/** A delivery when its job ends: `body` is kept as it was then. */
export interface NewDelivery {
	id: string;
	endpoint: string;
	job: string;
	url: string;
	body: JsonText;
	createdAt: number;
}

/**
 * The delivery that the end of a job brings about; undefined without a webhook. Its id is new for
 * each end, since only a retry can follow one.
 */
export function deliveryOf(result: JobResult): NewDelivery | undefined {
	const { job } = result;
	if (job.webhook === undefined || job.endedAt === undefined) return undefined;
	const { endedAt } = job;
	return {
		id: `msg_${job.id}_${job.returns}`,
		endpoint: job.endpoint,
		job: job.id,
		url: job.webhook,
		body: asOne(jobView(result, endedAt)),
		createdAt: endedAt,
	};
}

/**
 * What follows from a try that ended at `now`: only status 200 acknowledges; `used` counts the
 * tries of this round, this one included.
 */
export function afterTry({
	status,
	used,
	final = false,
	now,
}: {
	status?: number | undefined;
	used: number /** Trying again cannot help. */;
	final?: boolean;
	now: number;
}): { state: DeliveryState; dueAt?: number } {
	if (status === 200) return { state: "delivered" };
	if (final || used >= DELIVERY_TRIES) return { state: "failed" };
	return { state: "pending", dueAt: now + DELIVERY_PAUSE_MS };
}
