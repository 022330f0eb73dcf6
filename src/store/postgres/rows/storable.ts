/** What PostgreSQL cannot hold in text. */

/** Whether `text` can hold it: PostgreSQL rejects U+0000, so no row can match such a value. */
export function isStorable(text: string): boolean {
	return !text.includes("\0");
}
