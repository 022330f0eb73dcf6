/** Pages of lists of the management API (D49). */
import { CURSOR_PATTERN, keyIn, type PageKey } from "../pages.ts";
import { type Param, whole } from "../../../kernel/api/definition/params.ts";
import { FLAG, list, object } from "../../../kernel/api/definition/schema.ts";

export const CURSOR: Param<PageKey> = {
	name: "cursor",
	description: "`pagination.nextCursor` of the page before.",
	bound: "pagination.nextCursor of the page before",
	schema: { type: "string", pattern: CURSOR_PATTERN.source },
	read: keyIn,
};

export const LIMIT = whole("limit", {
	minimum: 1,
	maximum: 1000,
	default: 1000,
	description: "Maximum number of items on this page.",
});

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
