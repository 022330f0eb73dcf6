/** Reads a body of any size as slowly as its consumer wants, so that one of gigabytes needs no more memory. */
import type { IncomingMessage } from "node:http";
import type { ApiError } from "../../core/errors.ts";
import { UnreadBody } from "./body.ts";
import type { Call } from "./call.ts";

/** A rate is judged from then on, ms. */
const RATE_FROM_MS = 60_000;

const EVENTS = ["readable", "end", "close", "error", "timeout"] as const;

/**
 * Yields the body piece by piece. Throws 408 when nothing arrives for `readTimeout`, or less than `bytesPerSecond` on
 * average, not counting the time in which the consumer was busy; `cutShort` when the client leaves.
 */
export async function* bodyPieces(
	call: Call,
	{ bytesPerSecond, cutShort }: { bytesPerSecond: number; cutShort: () => ApiError },
): AsyncGenerator<Buffer, void> {
	const { req, engine } = call;
	let received = 0;
	let waitedMs = 0;
	if (call.isWaiting) {
		call.isWaiting = false;
		call.res.writeContinue();
	}
	for (;;) {
		const piece = req.read() as Buffer | null;
		if (piece !== null) {
			received += piece.length;
			yield piece;
			continue;
		}
		if (req.readableEnded) return;
		if (req.destroyed) throw cutShort();
		const began = engine.now();
		const event = await nextEvent(req, engine.budgets.readTimeout.limit);
		waitedMs += engine.now() - began;
		const isSlow = waitedMs > RATE_FROM_MS && (received / waitedMs) * 1000 < bytesPerSecond;
		if (event === "timeout" || isSlow) throw new UnreadBody("request_timeout");
		if (event === "error") throw cutShort();
	}
}

/** Nothing can arrive while the consumer is busy, so only this wait is limited. */
function nextEvent(req: IncomingMessage, timeoutMs: number): Promise<(typeof EVENTS)[number]> {
	return new Promise((resolve) => {
		const listeners = EVENTS.map((event) => [event, () => done(event)] as const);
		function done(event: (typeof EVENTS)[number]): void {
			for (const [name, listener] of listeners) req.off(name, listener);
			req.setTimeout(0);
			resolve(event);
		}
		req.setTimeout(timeoutMs);
		for (const [name, listener] of listeners) req.once(name, listener);
	});
}
