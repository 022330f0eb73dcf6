/**
 * Webhook deliveries as the store has them (spec 6, D21). The end of a job adds one within its transaction, so that no
 * crash can lose it; `src/modules/webhooks` sends them.
 */
import { asOne, type JsonText } from "../../lib/json/json-text.ts";
import { type JobResult, jobView } from "../jobs/job-view.ts";
import { receiverOf } from "./receiver.ts";

/** A name, or waits in ms. */
export type Schedule = "short" | "long" | readonly number[];

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
