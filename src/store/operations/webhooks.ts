/** What a try makes of a webhook delivery (D21). */
import { DELIVERY_HISTORY } from "../../core/delivery.ts";
import type { DeliveryRow } from "../contract/webhooks.ts";
import type { Query } from "./operation.ts";

/** A delivery and its place in lists. */
export interface NumberedDelivery extends DeliveryRow {
	number: number;
}

/** The delivery as the contract returns it. */
export function withoutNumber(delivery: NumberedDelivery): DeliveryRow {
	const { id, endpoint, job, url, state, tries, used, createdAt, dueAt } = delivery;
	return { id, endpoint, job, url, state, tries, used, createdAt, dueAt };
}

/** A pending delivery after a try. */
export function afterTry<Row extends DeliveryRow>(
	row: Row,
	{ tried, state, dueAt }: Query<"webhooks.tried">,
): Row {
	return {
		...row,
		state,
		tries: [...row.tries, tried].slice(-DELIVERY_HISTORY),
		used: row.used + 1,
		dueAt: state === "pending" ? (dueAt ?? row.dueAt) : undefined,
	};
}
