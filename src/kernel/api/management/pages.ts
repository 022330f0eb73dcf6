/** Pages of lists of the management API (D49). */
import { text, whole } from "../definition/params.ts";
import { FLAG, list, object } from "../definition/schema.ts";

export const CURSOR = text("cursor", 500, "`pagination.nextCursor` of the page before; valid for the same list only.");

/** 1,000 for most lists, 100 for builds. */
export function limitOf(maximum: 100 | 1000) {
	return whole("limit", {
		minimum: 1,
		maximum,
		default: maximum,
		description: "Maximum number of items on this page.",
	});
}

export const LIMIT = limitOf(1000);

const PAGINATION = object({
	nextCursor: { type: ["string", "null"], description: "Cursor of the next page; null on the last one." } as const,
	hasNextPage: FLAG,
});

/** The end of every list that is complete. */
export const LAST_PAGE = { nextCursor: null, hasNextPage: false } as const;

/** `{name: [item, ...], pagination}`. */
export function pagesOf<const Name extends string, const S>(name: Name, item: S) {
	const items = { [name]: list(item) } as Readonly<Record<Name, ReturnType<typeof list<S>>>>;
	return object({ ...items, pagination: PAGINATION });
}
