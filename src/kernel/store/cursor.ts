const FORM = /^n([1-9]\d{0,14})$/;

export function cursorOf(number: number): string {
	return `n${number}`;
}

/** Returns the number in a cursor, undefined without a cursor. Throws a RangeError for an invalid one. */
export function numberOf(cursor: string | undefined): number | undefined {
	if (cursor === undefined) return undefined;
	const number = FORM.exec(cursor)?.[1];
	if (number === undefined) throw wrongCursor();
	return Number(number);
}

export function wrongCursor(): RangeError {
	return new RangeError(
		"The cursor is not one that a list returned. " +
			"Pass `next` of the page before unchanged, or omit it to begin with the newest.",
	);
}
