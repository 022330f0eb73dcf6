/** Webhook deliveries: content and retries (spec 6, D21). */
import { asOne, type JsonText } from "./json/json-text.ts";
import { type JobResult, jobView } from "./job-view.ts";
import { receiverOf } from "./receiver.ts";

/** Times from a failed try to the next, ms: 2 retries (spec 6). */
export const SPECIFIED_SCHEDULE: readonly number[] = [10_000, 10_000];

/** Waits of the schedule `long`, ms: the specified ones, then from a minute to a day. */
const MINUTE_MS = 60_000;
const LONG_SCHEDULE: readonly number[] = [
	...SPECIFIED_SCHEDULE,
	MINUTE_MS,
	5 * MINUTE_MS,
	30 * MINUTE_MS,
	120 * MINUTE_MS,
	360 * MINUTE_MS,
	720 * MINUTE_MS,
	1440 * MINUTE_MS,
];

/** The setting `webhooks.schedule`: a name, or the waits in ms. */
export type Schedule = "short" | "long" | readonly number[];

export function waitsOf(schedule: Schedule): readonly number[] {
	if (typeof schedule !== "string") return schedule;
	return schedule === "long" ? LONG_SCHEDULE : SPECIFIED_SCHEDULE;
}

/** Timeout of one try, ms. */
export const DELIVERY_TIMEOUT_MS = 10_000;

/** Retention of deliveries, ms. */
export const DELIVERY_KEPT_MS = 7 * 86_400_000;

/** Maximum tries in a record (the last ones); redelivery adds tries. */
export const DELIVERY_HISTORY = 30;

/** `pending`: a try is due or in flight. */
export const DELIVERY_STATES = ["pending", "delivered", "failed"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export interface DeliveryTry {
	/** Start, ms since the epoch. */
	at: number;
	tookMs: number;
	status?: number | undefined;
	/** The beginning of the response, printable. */
	answer?: string | undefined;
	/** Why there is no response; never contains the URL. */
	error?: string | undefined;
}

/** Created when the job ends; `body` never changes. */
export interface NewDelivery {
	id: string;
	endpoint: string;
	job: string;
	url: string;
	/** Host and port of the URL. */
	receiver: string;
	body: JsonText;
	createdAt: number;
}

/** The delivery for a job's end; undefined without a webhook. The id differs after a retry. */
export function deliveryOf(result: JobResult): NewDelivery | undefined {
	const { job } = result;
	if (job.webhook === undefined || job.endedAt === undefined) return undefined;
	const { endedAt } = job;
	return {
		id: `msg_${job.id}_${job.returns}`,
		endpoint: job.endpoint,
		job: job.id,
		url: job.webhook,
		receiver: receiverOf(job.webhook),
		body: asOne(jobView(result, endedAt)),
		createdAt: endedAt,
	};
}

/** The state after a try that ended at `now`; only status 200 acknowledges. */
export function afterTry({
	status,
	used,
	final = false,
	schedule = SPECIFIED_SCHEDULE,
	now,
}: {
	status?: number | undefined;
	/** Tries of this round, including this one. */
	used: number;
	/** A retry would fail too. */
	final?: boolean;
	/** Wait after each failed try but the last, ms. */
	schedule?: readonly number[];
	now: number;
}): { state: DeliveryState; dueAt?: number } {
	if (status === 200) return { state: "delivered" };
	const wait = schedule[used - 1];
	if (final || wait === undefined) return { state: "failed" };
	return { state: "pending", dueAt: now + wait };
}
