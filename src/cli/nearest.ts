/** The word that was probably meant. Pure. */

/** The nearest of `words` that differs in at most a third of the letters; undefined if none does. */
export function nearest(word: string, words: readonly string[]): string | undefined {
	const most = Math.ceil(word.length / 3);
	const found = words
		.map((each) => ({ each, distance: distance(word, each) }))
		.filter((one) => one.distance <= most)
		.toSorted((a, b) => a.distance - b.distance);
	return found[0]?.each;
}

/** Letters to insert, remove, replace, or swap with their neighbour. */
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
