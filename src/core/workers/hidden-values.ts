/** What the output of a worker must not show (D22, D47): the values of its variables and secrets, by name. */

export type HiddenValues = Readonly<Record<string, string>>;

/** Shorter values are no secrets, and are found in any text. */
const SECRET_LENGTH = 8;

const TOKEN = /sluice_worker_[0-9a-f]+/g;

interface Hidden {
	name: string;
	value: string;
}

/**
 * Replaces the values, their lines, and tokens by their names. The text may be a part of a longer one: what stands of a
 * value at its begin and at its end is replaced too. Must come before the text is made shorter: of a value that was cut
 * elsewhere the rest is not recognized.
 */
export function withoutSecrets(text: string, values: HiddenValues): string {
	const all = partsOf(values);
	const head = longest(all, (value) => (value.includes(text) ? text.length : overlap(value, text)));
	const rest = text.slice(head?.length ?? 0);
	const tail = longest(all, (value) => overlap(rest, value));
	const middle = all
		.reduce(
			(left, { name, value }) => left.replaceAll(value, `[${name}]`),
			rest.slice(0, rest.length - (tail?.length ?? 0)),
		)
		.replaceAll(TOKEN, "[token]");
	return `${markOf(head)}${middle}${markOf(tail)}`;
}

/** The longest first. A value within JSON is another text. */
function partsOf(values: HiddenValues): Hidden[] {
	return Object.entries(values)
		.flatMap(([name, value]) => {
			const forms = [value, JSON.stringify(value).slice(1, -1), ...value.split("\n")];
			return Array.from(new Set(forms), (form) => ({ name, value: form }));
		})
		.filter(({ value }) => value.length >= SECRET_LENGTH)
		.toSorted((a, b) => b.value.length - a.value.length);
}

function longest(
	all: readonly Hidden[],
	lengthOf: (value: string) => number,
): { name: string; length: number } | undefined {
	let found: { name: string; length: number } | undefined;
	for (const { name, value } of all) {
		const length = lengthOf(value);
		if (length >= SECRET_LENGTH && length > (found?.length ?? 0)) found = { name, length };
	}
	return found;
}

function markOf(found: { name: string } | undefined): string {
	return found ? `[${found.name}]` : "";
}

/**
 * Length of the longest end of `left` that `right` begins with, in a time that grows with both together: either may be
 * chosen by others.
 */
function overlap(left: string, right: string): number {
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
