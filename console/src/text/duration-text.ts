/** Durations as people write them: `7 d`, `1 h 30 min`, `250 ms`; exact in both directions. */

/** Ms of each unit, the largest first; the first name of each is the one that is shown. */
const UNITS: readonly { ms: number; names: readonly string[] }[] = [
	{ ms: 86_400_000, names: ["d", "day", "days"] },
	{ ms: 3_600_000, names: ["h", "hour", "hours"] },
	{ ms: 60_000, names: ["min", "m", "minute", "minutes"] },
	{ ms: 1000, names: ["s", "sec", "second", "seconds"] },
	{ ms: 1, names: ["ms"] },
];

/** Units of settings: `x-unit` of the schema. */
export const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, seconds: 1000 };

export function durationText(ms: number): string {
	if (ms === 0) return "0 s";
	let rest = ms;
	const parts: string[] = [];
	for (const { ms: size, names } of UNITS) {
		const count = Math.floor(rest / size);
		if (count > 0) parts.push(`${count} ${names[0]}`);
		rest -= count * size;
	}
	return parts.join(" ");
}

/** Ms; a number without a unit counts in `unit`, ms. Undefined if the text is no duration. */
export function durationIn(text: string, unit: number): number | undefined {
	const trimmed = text.trim().toLowerCase();
	if (/^\d+(?:\.\d+)?$/.test(trimmed)) return Number(trimmed) * unit;
	const pieces = [...trimmed.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)\s*/gy)];
	if (pieces.length === 0 || pieces.map(([all]) => all).join("") !== trimmed) return undefined;
	let sum = 0;
	for (const [, count, name] of pieces) {
		const found = UNITS.find(({ names }) => names.includes(name!));
		if (!found) return undefined;
		sum += Number(count) * found.ms;
	}
	return Math.round(sum);
}
