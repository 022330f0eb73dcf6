import type { IncomingMessage } from "node:http";

/** Keeps proxies from buffering. */
export const EVENT_STREAM = {
	"Content-Type": "text/event-stream",
	"Cache-Control": "no-cache, no-store",
	"X-Content-Type-Options": "nosniff",
	"X-Accel-Buffering": "no",
} as const;

export function wantsEvents({ headers }: IncomingMessage): boolean {
	return (headers.accept ?? "").includes("text/event-stream");
}

/** Undefined if absent or not a number. */
export function lastEventId({ headers }: IncomingMessage): number | undefined {
	const value = headers["last-event-id"];
	return typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}
