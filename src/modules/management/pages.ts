/** Lists by page, newest first: a page begins after a key, so changes elsewhere in the list move nothing (D49). */
import type { EpochMs } from "../../kernel/lib/time.ts";

export interface PageKey {
	createdAt: EpochMs;
	id: string;
}

function newestFirst(one: PageKey, other: PageKey): number {
	return other.createdAt - one.createdAt || (one.id < other.id ? 1 : one.id > other.id ? -1 : 0);
}

/** `next`: the key of the last item here, if more follow. */
export function pageOf<T>(
	items: readonly T[],
	keyOf: (item: T) => PageKey,
	{ after, limit }: { after: PageKey | undefined; limit: number },
): { items: T[]; next: PageKey | undefined } {
	const left = items
		.map((item) => ({ item, key: keyOf(item) }))
		.filter(({ key }) => after === undefined || newestFirst(after, key) < 0)
		.toSorted((one, other) => newestFirst(one.key, other.key));
	const found = left.slice(0, limit);
	return { items: found.map(({ item }) => item), next: left.length > limit ? found.at(-1)!.key : undefined };
}

/** Time and id of the last item of a page: the next one begins after it, also if it was deleted meanwhile. */
export function cursorOf({ createdAt, id }: PageKey): string {
	return `${createdAt}-${id}`;
}

export const CURSOR_PATTERN = /^(\d{1,16})-([A-Za-z0-9_-]{0,64})$/;

/** Undefined for a text that is no cursor. */
export function keyIn(cursor: string): PageKey | undefined {
	const [, createdAt, id] = CURSOR_PATTERN.exec(cursor) ?? [];
	return id === undefined ? undefined : { createdAt: Number(createdAt), id };
}
