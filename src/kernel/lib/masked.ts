/** A text of a receiver, which may have what it got. */

/** A shorter end of a text is not taken for the beginning of a secret. */
const SHORTEST = 4;

/** Shorter secrets have no encoded form that would not be a common word too. */
const SHORTEST_ENCODED = 8;

/** Returns the text with `…` for secrets, as they are or encoded, also for one that is cut at its end. */
export function masked(text: string, all: readonly string[]): string {
	// The longest first: they contain others.
	const secrets = all
		.filter((each) => each !== "")
		.flatMap((each) => [each, ...encodedForms(each)])
		.toSorted((a, b) => b.length - a.length);
	const cut = Math.max(...secrets.map((secret) => overlap(text, secret)), 0);
	const rest = cut < SHORTEST ? text : `${text.slice(0, -cut)}…`;
	return secrets.reduce((shown, secret) => shown.replaceAll(secret, "…"), rest);
}

function encodedForms(secret: string): string[] {
	if (secret.length < SHORTEST_ENCODED) return [];
	const bytes = Buffer.from(secret);
	const hex = bytes.toString("hex");
	const base64 = [0, 1, 2].flatMap((before) => {
		const digits = base64Within(bytes, before);
		return [digits, digits.replaceAll("+", "-").replaceAll("/", "_")];
	});
	return [encodeURIComponent(secret), hex, hex.toUpperCase(), ...base64];
}

/** The digits that stand for these bytes alone, with `before` modulo 3 other bytes in front of them. */
function base64Within(bytes: Buffer, before: number): string {
	const text = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
	return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
}

/**
 * Length of the longest end of `left` that `right` begins with, in a time that grows with both together: either may be
 * chosen by others.
 */
export function overlap(left: string, right: string): number {
	const most = Math.min(left.length, right.length);
	const begin = right.slice(0, most);
	// For each place of `begin` the length of the longest shorter begin that ends there (Knuth, Morris, Pratt).
	const borders = [0];
	for (let at = 1, length = 0; at < most; at += 1) {
		length = continued(borders, begin, length, begin[at]);
		borders.push(length);
	}
	let length = 0;
	for (let at = left.length - most; at < left.length; at += 1) length = continued(borders, begin, length, left[at]);
	return length;
}

function continued(borders: readonly number[], begin: string, from: number, character: string | undefined): number {
	let length = from;
	while (length > 0 && begin[length] !== character) length = borders[length - 1] ?? 0;
	return begin[length] === character ? length + 1 : length;
}
