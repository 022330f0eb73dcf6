/** "Did you mean": the word that is meant by a misspelt one. */

/** Bound the time, to about 3 ms. */
const LONGEST_WORD = 40;
const MOST_WORDS = 200;
const SHORTEST_WORD = 3;

/** Undefined if more than a third of the letters differ. */
export function nearest(word: string, words: readonly string[]): string | undefined {
	if (word.length < SHORTEST_WORD || word.length > LONGEST_WORD) return undefined;
	const most = Math.ceil(word.length / 3);
	return words
		.filter((each) => Math.abs(each.length - word.length) <= most)
		.slice(0, MOST_WORDS)
		.map((each) => ({ each, distance: distance(word, each) }))
		.filter((one) => one.distance <= most)
		.toSorted((a, b) => a.distance - b.distance)[0]?.each;
}

/** Edit distance that counts a swap of neighbours as one. */
function distance(a: string, b: string): number {
	const rows = Array.from({ length: a.length + 1 }, (_, i) =>
		Array.from({ length: b.length + 1 }, (_unused, j) => (i === 0 ? j : j === 0 ? i : 0)),
	);
	for (let i = 1; i <= a.length; i += 1)
		for (let j = 1; j <= b.length; j += 1) {
			const [row, above] = [rows[i]!, rows[i - 1]!];
			const same = a[i - 1] === b[j - 1];
			row[j] = Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + (same ? 0 : 1));
			if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
				row[j] = Math.min(row[j]!, rows[i - 2]![j - 2]! + 1);
		}
	return rows[a.length]![b.length]!;
}

/** Such as ` Did you mean 'hello'?`, or nothing. */
export function didYouMean(word: string, words: readonly string[]): string {
	const meant = nearest(word, words);
	return meant === undefined ? "" : ` Did you mean '${meant}'?`;
}
