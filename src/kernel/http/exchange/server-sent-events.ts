import type { IncomingMessage } from "node:http";
import { prefers } from "./accept.ts";

/** Keeps proxies from buffering. */
export const EVENT_STREAM = {
	"Content-Type": "text/event-stream",
	"Cache-Control": "no-cache, no-store",
	"X-Content-Type-Options": "nosniff",
	"X-Accel-Buffering": "no",
} as const;

/** Whether the client wants events: `Accept` names them, with a weight above 0 and not below that of JSON (D7). */
export function wantsEvents({ headers }: IncomingMessage): boolean {
	return prefers(headers.accept, "text/event-stream", "application/json");
}

/** Returns `Last-Event-ID`; undefined if it is absent or not a number. */
export function lastEventId({ headers }: IncomingMessage): number | undefined {
	const value = headers["last-event-id"];
	return typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}
