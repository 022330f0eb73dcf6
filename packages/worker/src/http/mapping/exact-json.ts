/** JSON whose integers above 2^53, such as seeds and ids of 64 bits, are written as they were read. */

/** Node has it; TypeScript's library does not declare it yet. */
const json = JSON as typeof JSON & {
	parse(text: string, reviver: (name: string, value: unknown, context: { source?: string }) => unknown): unknown;
	rawJSON(text: string): object;
	isRawJSON(value: unknown): boolean;
};

/** Large integers become `JSON.rawJSON`. Throws a SyntaxError. */
export function parseExact(text: string): unknown {
	return mayHaveLargeIntegers(text) ? json.parse(text, exactInteger) : JSON.parse(text);
}

/** A reviver is slow, and few texts have such numbers. Digits after a point, as of embeddings, do not count. */
export function mayHaveLargeIntegers(text: string): boolean {
	return /(?:^|[^.\d])\d{16}/.test(text);
}

/** Whether a value is a large integer of {@link parseExact}. */
export function isLargeInteger(value: unknown): boolean {
	return json.isRawJSON(value);
}

function exactInteger(_name: string, value: unknown, { source }: { source?: string }): unknown {
	const isExact = typeof value !== "number" || !Number.isInteger(value) || Number.isSafeInteger(value);
	return isExact || source === undefined ? value : json.rawJSON(source);
}
