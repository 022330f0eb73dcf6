/** Durations as people write them: `500ms`, `5m`, `1h30m`, `7d`. A schema that accepts them has `x-duration`. */
import { isObject, type Schema } from "../lib/schema.ts";

export const DAY_MS = 86_400_000;

const UNITS = { d: DAY_MS, h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const;

/** Ms of the values of `x-unit`. */
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, seconds: 1000 };

const DURATION = /^(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?$/;

export const DURATION_RULE = "numbers with d, h, m, s or ms, the largest unit first, such as 24h or 1h30m";

/** Returns the duration in ms; undefined for other text. */
export function parseDuration(text: string): number | undefined {
	const counts = DURATION.exec(text)?.slice(1);
	if (counts === undefined || text === "") return undefined;
	return Object.values(UNITS).reduce((sum, ms, index) => sum + Number(counts[index] ?? 0) * ms, 0);
}

/** Returns a text from which {@link parseDuration} returns `ms` again. */
export function durationText(ms: number): string {
	if (ms % 1000 !== 0 && ms < 10_000) return `${ms}ms`;
	let rest = ms;
	const parts = Object.entries(UNITS).map(([unit, size]) => {
		const count = Math.floor(rest / size);
		rest -= count * size;
		return count === 0 ? "" : `${count}${unit}`;
	});
	return parts.join("") || "0s";
}

/** A whole number of `unit`, or text such as `example`. */
export function duration(
	unit: "ms" | "s" | "seconds",
	[minimum, maximum]: readonly [number, number],
	{ example, ...rest }: Schema & { example: string },
) {
	return { type: "integer", minimum, maximum, "x-unit": unit, "x-duration": example, ...rest } as const;
}

/** Replaces durations by numbers in the units of the schema. Other values stay, for the check. */
export function withDurations(schema: Schema, value: unknown): unknown {
	return mapped(schema, value, (text, unitMs) => {
		const ms = typeof text === "string" ? parseDuration(text) : undefined;
		return ms === undefined || ms % unitMs !== 0 ? text : ms / unitMs;
	});
}

/** Replaces numbers by duration texts, the reverse of {@link withDurations}. */
export function withDurationTexts(schema: Schema, value: unknown): unknown {
	return mapped(schema, value, (number, unitMs) =>
		typeof number === "number" ? durationText(number * unitMs) : number,
	);
}

type Change = (value: unknown, unitMs: number) => unknown;

function mapped(schema: Schema, value: unknown, change: Change): unknown {
	const branches = [schema, ...(schema.oneOf ?? [])];
	if (Array.isArray(value)) {
		const items = branches.find((branch) => branch.items)?.items;
		return items ? value.map((item: unknown) => mapped(items, item, change)) : value;
	}
	if (!isObject(value)) {
		const timed = branches.find((branch) => branch["x-duration"] !== undefined);
		return timed ? change(value, UNIT_MS[timed["x-unit"] ?? "ms"] ?? 1) : value;
	}
	const { properties = {} } = branches.find((branch) => branch.properties && isOf(branch.properties, value)) ?? {};
	const members = Object.entries(value).map(([name, member]): [string, unknown] => [
		name,
		Object.hasOwn(properties, name) ? mapped(properties[name]!, member, change) : member,
	]);
	return Object.fromEntries(members);
}

/** Whether the constants of a branch, such as the type of a launcher, are those of the value. */
function isOf(properties: NonNullable<Schema["properties"]>, value: Record<string, unknown>): boolean {
	return Object.entries(properties).every(
		([name, member]) => member.const === undefined || member.const === value[name],
	);
}
