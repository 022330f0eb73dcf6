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
