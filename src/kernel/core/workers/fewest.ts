/** Returns the fewest ones that suffice, the first ones rather than later ones; none where all are too few. */
export function firstThatSuffice<T>(all: readonly T[], suffice: (some: readonly T[]) => boolean): T[] {
	return suffice(all) ? fewest(all, [], suffice) : [];
}

/** Halves `some` repeatedly: few trials where few of many are needed. */
function fewest<T>(some: readonly T[], fixed: readonly T[], suffice: (some: readonly T[]) => boolean): T[] {
	if (suffice(fixed)) return [];
	if (some.length === 1) return [...some];
	const [first, last] = [some.slice(0, some.length / 2), some.slice(some.length / 2)];
	const ofLast = fewest(last, [...fixed, ...first], suffice);
	return [...fewest(first, [...fixed, ...ofLast], suffice), ...ofLast];
}
