/** Where a page of a list ended, as text that callers hand back. */

const FORM = /^n([1-9]\d{0,14})$/;

/** The cursor of a page that ended at row `number`. */
export function cursorOf(number: number): string {
	return `n${number}`;
}

/**
 * The row at which the page of `cursor` ended, or `undefined` without one. Throws a RangeError for
 * a text that is no cursor.
 */
export function numberOf(cursor: string | undefined): number | undefined {
	if (cursor === undefined) return undefined;
	const number = FORM.exec(cursor)?.[1];
	if (number === undefined)
		throw new RangeError(
			"The cursor is not one that a list gave. Take it unchanged from `next` of the page before, or leave it out to begin with the newest.",
		);
	return Number(number);
}
