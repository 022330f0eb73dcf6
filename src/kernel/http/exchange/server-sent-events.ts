import type { IncomingMessage } from "node:http";
import { prefers } from "./accept.ts";

/** Keeps proxies from buffering. */
export const EVENT_STREAM = {
	"Content-Type": "text/event-stream",
	"Cache-Control": "no-cache, no-store",
	"X-Content-Type-Options": "nosniff",
	"X-Accel-Buffering": "no",
} as const;

/** Where another form is wanted more, or events with weight 0, that form is sent (D7). */
export function wantsEvents({ headers }: IncomingMessage): boolean {
	return prefers(headers.accept, "text/event-stream", "application/json");
}

/** Undefined if absent or not a number. */
export function lastEventId({ headers }: IncomingMessage): number | undefined {
	const value = headers["last-event-id"];
	return typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}
