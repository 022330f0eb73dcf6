import type { DeliveryTry } from "../../core/webhooks/delivery.ts";
import type { DeliveryRow } from "../contract/webhooks.ts";
import { columns } from "./columns.ts";

/** `number`: order of lists. */
export interface NumberedDelivery extends DeliveryRow {
	number: number;
}

export function withoutNumber(delivery: NumberedDelivery): DeliveryRow {
	const { id, endpoint, job, url, state, tries, used, createdAt, dueAt } = delivery;
	return { id, endpoint, job, url, state, tries, used, createdAt, dueAt };
}

/** PostgreSQL keeps URLs as JSON: its text has no U+0000. */
export const DELIVERIES = columns<NumberedDelivery>(
	"number, id, endpoint, job, url, state, tries, used, created_at, due_at",
	{
		url: (url: string) => (url.startsWith('"') ? (JSON.parse(url) as string) : url),
		tries: (tries: string) => JSON.parse(tries) as DeliveryTry[],
	},
);
