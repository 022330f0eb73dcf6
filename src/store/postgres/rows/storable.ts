/** What PostgreSQL cannot hold in text. */

/**
 * Whether a text may be in a column at all: one with U+0000 is refused as a parameter, so nothing
 * is to be found by it.
 */
export function isStorable(text: string): boolean {
	return !text.includes("\0");
}
