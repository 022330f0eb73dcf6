import { badQuery } from "../core/errors.ts";

/** The 400 for a store's error that a cursor is invalid; any other error as it is. */
export function invalidCursor(error: unknown, cursor: string | undefined): unknown {
	return error instanceof RangeError && cursor !== undefined
		? badQuery("cursor", cursor, "`next` of the page before")
		: error;
}
