/**
 * Webhook deliveries as the store has them (spec 6, D21). The end of a job adds one within its transaction, so that no
 * crash can lose it; `src/modules/webhooks` sends them.
 */
import { asOne, type JsonText } from "../lib/json/json-text.ts";
import { type JobResult, jobView } from "./jobs/job-view.ts";

/**
 * Pauses a receiver that does not answer (D21). By endpoint, since a client of another endpoint could make calls to a
 * shared host fail on purpose.
 */
export interface ReceiverHealth {
	/** Attempts without an answer in a row. */
	unanswered: number;
	/** Ms since the epoch. */
	pausedUntil?: number | undefined;
}

/** Attempts without an answer in a row. */
export const PAUSE_AFTER = 10;

/** Each further failure doubles the pause. */
export const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 600_000;

export interface ReceiverAttempt {
	/** With any status. */
	isAnswered: boolean;
	now: number;
}

/** Undefined if the attempt was answered. */
export function afterAttempt(
	before: ReceiverHealth | undefined,
	{ isAnswered, now }: ReceiverAttempt,
): ReceiverHealth | undefined {
	if (isAnswered) return undefined;
	const unanswered = (before?.unanswered ?? 0) + 1;
	return { unanswered, pausedUntil: unanswered < PAUSE_AFTER ? undefined : now + pauseMs(unanswered) };
}

function pauseMs(unanswered: number): number {
	return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(20, unanswered - PAUSE_AFTER));
}

/** No host name with its port is longer. */
const MAX_RECEIVER = 300;

/** The address as submitted; without user and password. */
export function withoutUser(text: string): string {
	const url = URL.parse(text);
	if (url === null || (url.username === "" && url.password === "")) return text;
	url.username = url.password = "";
	return url.href;
}

/** Path and query may be secret. */
export function receiverOf(url: string): string {
	return (URL.parse(url)?.host ?? "").slice(0, MAX_RECEIVER);
}

/** A name, or waits in ms. */
export type Schedule = "short" | "long" | readonly number[];

/** Waits after a failed try, ms (spec 6). */
export const SPECIFIED_SCHEDULE: readonly number[] = [10_000, 10_000];

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

/** Waits after each failed attempt except the last, ms. */
export function waitsOf(schedule: Schedule): readonly number[] {
	if (typeof schedule !== "string") return schedule;
	return schedule === "long" ? LONG_SCHEDULE : SPECIFIED_SCHEDULE;
}

/** The last tries stay in a record; redelivery adds tries. */
export const DELIVERY_HISTORY = 30;

/** `pending`: a try is due or in flight. */
export const DELIVERY_STATES = ["pending", "delivered", "failed"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export interface DeliveryTry {
	/** Ms since the epoch. */
	at: number;
	tookMs: number;
	status?: number | undefined;
	/** The beginning of the response, printable. */
	answer?: string | undefined;
	/** Never contains the URL. */
	error?: string | undefined;
}

/** Created when the job ends; `body` never changes. */
export interface NewDelivery {
	id: string;
	endpoint: string;
	job: string;
	url: string;
	receiver: string;
	body: JsonText;
	createdAt: number;
}

/** Undefined without a webhook. The id differs after a retry. */
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
