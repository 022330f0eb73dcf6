/** What all answers with server-sent events share. */
import type { IncomingMessage } from "node:http";

/** Their headers; proxies must not buffer them. */
export const EVENT_STREAM = {
	"Content-Type": "text/event-stream",
	"Cache-Control": "no-cache",
	"X-Accel-Buffering": "no",
} as const;

export function wantsEvents({ headers }: IncomingMessage): boolean {
	return (headers.accept ?? "").includes("text/event-stream");
}

/** The number in `Last-Event-ID`; undefined if absent or not a number. */
export function lastEventId({ headers }: IncomingMessage): number | undefined {
	const value = headers["last-event-id"];
	return typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}
