/**
 * Chunks from the worker's post to readers that keep up, without a read of the store (D7, decision
 * 0042). Invariants:
 *
 * - A part is handed on only after it is durable, and only at the server that stored it. What
 *   reaches other servers is a signal without chunks, after which their readers read the store.
 * - A reader takes a part only at its own position, and waits without a read only where the last
 *   part or read ended. What is missing before it (a part that was not kept, that arrived in another
 *   order, or at another server) is read from the store.
 * - Any other news, and a wait that ends without news, is followed by a read of the store, so the
 *   end of a job, its loss and its removal are seen as without this file.
 */
import type { CompletionWaiters, LivePart } from "./wait.ts";

export interface Follower {
	/** The part at `from`, if it is here. */
	take(from: number): LivePart | undefined;
	/** Whether the store may have chunks from `from` that are not here; then they are read now. */
	mustRead(from: number): boolean;
	/** What was read ends before `next`; undefined if the store had more, or the end of the job. */
	readTo(next: number | undefined): void;
	close(): void;
}

/** Characters that wait for one reader; what is beyond is read from the store. */
const KEPT = 65_536;

export function follow(waiters: Pick<CompletionWaiters, "watch">, job: { endpoint: string; id: string }): Follower {
	let parts: LivePart[] = [];
	let kept = 0;
	/** News that came without chunks. */
	let unread = false;
	/** The reader has all chunks before this one, and the store had no others. */
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
