/**
 * Passes chunks from the worker's post to readers that keep up, without a read of the store (D7, decision 0042). A part
 * is passed on only after it is durable, at the server that stored it, and to a reader at its position. After any other
 * news, and after a wait without news, the reader reads the store.
 */
import type { CompletionWaiters, LivePart } from "../wait.ts";

export interface Follower {
	take(from: number): LivePart | undefined;
	/** Whether the store may have chunks from number `from` on that are not in memory. */
	mustRead(from: number): boolean;
	/** Records that the store was read up to `next`; undefined if the store had more, or the job has ended. */
	readTo(next: number | undefined): void;
	close(): void;
}

/** Maximum characters that wait in memory for one reader; the rest is read from the store. */
const KEPT = 65_536;

export function follow(waiters: Pick<CompletionWaiters, "watch">, job: { endpoint: string; id: string }): Follower {
	let parts: LivePart[] = [];
	let kept = 0;
	/** There was news without chunks. */
	let unread = false;
	/** Number of the chunk up to which the reader has everything that the store had. */
	let end: number | undefined;

	const close = waiters.watch(job, (part) => {
		if (part === undefined) {
			unread = true;
			return;
		}
		kept += part.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
		if (kept <= KEPT) parts.push(part);
		else clear();
	});

	function clear(): void {
		parts = [];
		kept = 0;
		unread = true;
	}

	return {
		take(from) {
			while (parts.length > 0 && parts[0]!.from < from) parts.shift();
			const [first] = parts;
			if (first === undefined) {
				kept = 0;
				return undefined;
			}
			if (first.from > from) {
				unread = true;
				return undefined;
			}
			const chunks: string[] = [];
			while (parts[0]?.from === from + chunks.length && parts[0].attempt === first.attempt)
				chunks.push(...parts.shift()!.chunks);
			if (parts.length === 0) kept = 0;
			end = from + chunks.length;
			return { from, chunks, attempt: first.attempt };
		},
		mustRead(from) {
			if (!unread && from === end) return false;
			unread = false;
			return true;
		},
		readTo: (next) => void (end = next),
		close,
	};
}
