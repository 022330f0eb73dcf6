/** What differs between two texts, line by line. */

export interface DiffLine {
	/** In both, in the first only, in the second only. */
	in: "both" | "left" | "right";
	text: string;
}

/** Product of the lines that are compared in full; texts that differ in more are not compared. */
const MOST_PAIRS = 4_000_000;

/** Undefined where the texts differ in too many lines. */
export function diffOf(left: string, right: string): readonly DiffLine[] | undefined {
	const [a, b] = [left.split("\n"), right.split("\n")];
	let head = 0;
	while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
	let tail = 0;
	while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail])
		tail += 1;
	const middle = differing(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
	if (!middle) return undefined;
	const both = (lines: readonly string[]): DiffLine[] => lines.map((text) => ({ in: "both", text }));
	return [...both(a.slice(0, head)), ...middle, ...both(a.slice(a.length - tail))];
}

/** By the longest common subsequence. */
function differing(a: readonly string[], b: readonly string[]): DiffLine[] | undefined {
	const width = b.length + 1;
	if ((a.length + 1) * width > MOST_PAIRS) return undefined;
	const common = new Uint16Array((a.length + 1) * width);
	for (let i = a.length - 1; i >= 0; i -= 1)
		for (let j = b.length - 1; j >= 0; j -= 1)
			common[i * width + j] =
				a[i] === b[j]
					? common[(i + 1) * width + j + 1]! + 1
					: Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
	const lines: DiffLine[] = [];
	let [i, j] = [0, 0];
	while (i < a.length || j < b.length)
		if (i < a.length && j < b.length && a[i] === b[j]) {
			lines.push({ in: "both", text: a[i]! });
			i += 1;
			j += 1;
		} else if (j >= b.length || (i < a.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!))
			lines.push({ in: "left", text: a[i++]! });
		else lines.push({ in: "right", text: b[j++]! });
	return lines;
}
