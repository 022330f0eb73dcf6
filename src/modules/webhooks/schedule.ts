/** Decides when a delivery is tried again, and builds the body of an attempt (spec 6, D21). */
import { type DeliveryState, SPECIFIED_SCHEDULE, withoutUser } from "../../kernel/core/webhooks.ts";
import { asOne, cut, type JsonText, piecesOf, sizeOf } from "../../kernel/lib/json/json-text.ts";

export const DELIVERY_KEPT_MS = 7 * 86_400_000;

/**
 * Returns the body that is sent: the stored body with the members that RunPod adds to it. The input is read from its
 * job for each attempt, so that it is stored once.
 */
export function sentBody(body: JsonText, { url, input }: { url: string; input: JsonText | undefined }): JsonText {
	const end = `,"webhook":${JSON.stringify(withoutUser(url))}}`;
	if (typeof body === "string" && (input === undefined || typeof input === "string"))
		return body.slice(0, -1) + (input === undefined ? "" : `,"input":${input}`) + end;
	const open = typeof body === "string" ? body.slice(0, -1) : cut(body, 0, sizeOf(body) - 1);
	return asOne(piecesOf(open, ...(input === undefined ? [] : [',"input":', input]), end));
}

/** Returns the state of a delivery after an attempt. Only status 200 acknowledges. */
export function afterTry({
	status,
	used,
	final = false,
	schedule = SPECIFIED_SCHEDULE,
	now,
}: {
	status?: number | undefined;
	/** Attempts in this round, including this one. */
	used: number;
	final?: boolean;
	/** Waits after each failed attempt except the last, ms. */
	schedule?: readonly number[];
	now: number;
}): { state: DeliveryState; dueAt?: number } {
	if (status === 200) return { state: "delivered" };
	const wait = schedule[used - 1];
	if (final || wait === undefined) return { state: "failed" };
	return { state: "pending", dueAt: now + wait };
}
