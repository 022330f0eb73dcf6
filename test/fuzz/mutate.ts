/** Changes of a case that keep its shape, and smaller cases than one that fails. */
import type { Case } from "./target.ts";

export type Random = () => number;

/** Numbers from 0 to 1, the same for the same seed (xorshift32). */
export function random(seed: number): Random {
	let state = (seed ^ 0x9e3779b9) | 0 || 1;
	return () => {
		state ^= state << 13;
		state ^= state >>> 17;
		state ^= state << 5;
		return (state >>> 0) / 2 ** 32;
	};
}

const below = (next: Random, bound: number): number => Math.floor(next() * bound);

const NUMBERS = [0, 1, -1, 2 ** 31, 2 ** 53 - 1, 2 ** 53, 0.5, 1e308] as const;
const TEXTS = ["\0", '"', "\\", "\n", "\r", "%", "/", ":", ",", " ", "\u00ff", "\ud800", "é", "0", "-", "x"];

const isList = (value: Case | undefined): value is Case[] => Array.isArray(value);
const isRecord = (value: Case | undefined): value is { [name: string]: Case } =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** A changed case; `donor` is another one of the same target, whose parts may take the same place. */
export function mutated(value: Case, donor: Case | undefined, next: Random): Case {
	if (typeof value === "string") return text(value, typeof donor === "string" ? donor : "", next);
	if (typeof value === "number")
		return next() < 0.3
			? NUMBERS[below(next, NUMBERS.length)]!
			: next() < 0.5 && typeof donor === "number"
				? donor
				: value + below(next, 5) - 2;
	if (typeof value === "boolean") return !value;
	if (isList(value)) return list(value, isList(donor) ? donor : [], next);
	if (!isRecord(value)) return donor ?? value;
	const names = Object.keys(value);
	const name = names[below(next, names.length)];
	if (name === undefined) return value;
	const other = isRecord(donor) && Object.hasOwn(donor, name) ? donor[name] : undefined;
	const member = other !== undefined && next() < 0.3 ? other : mutated(value[name]!, other, next);
	return { ...value, [name]: member };
}

function list(value: Case[], donor: Case[], next: Random): Case[] {
	const at = below(next, value.length + 1);
	const other = donor[below(next, donor.length)];
	const kind = next();
	if (kind < 0.15) return value.toSpliced(at, 1 + below(next, 3));
	if (kind < 0.3 && value.length < 200) {
		const copied = other ?? value[below(next, value.length)];
		return copied === undefined ? value : value.toSpliced(at, 0, copied);
	}
	if (kind < 0.4) return [...value.slice(0, at), ...donor.slice(below(next, donor.length + 1))];
	const item = value[at];
	return item === undefined ? value : value.with(at, mutated(item, other, next));
}

function text(value: string, donor: string, next: Random): string {
	const at = below(next, value.length + 1);
	const kind = below(next, 7);
	const before = value.slice(0, at);
	if (kind === 0) return before + value.slice(at + 1 + below(next, 4));
	if (kind === 1) return before + TEXTS[below(next, TEXTS.length)]! + value.slice(at);
	if (kind === 2) return before + TEXTS[below(next, TEXTS.length)]! + value.slice(at + 1);
	if (kind === 3) return before + String.fromCharCode(below(next, 256)) + value.slice(at + 1);
	if (kind === 4 && value.length < 4000)
		return before + value.slice(at, at + 1 + below(next, 16)).repeat(1 + below(next, 8)) + value.slice(at);
	if (kind === 5) return before + donor.slice(below(next, donor.length + 1));
	const from = below(next, donor.length + 1);
	return before + donor.slice(from, from + 1 + below(next, 8)) + value.slice(at);
}

/** Smaller cases, the smallest first; members of objects stay. */
export function* smaller(value: Case): Generator<Case> {
	if (typeof value === "string") {
		for (let size = value.length; size >= 1; size = Math.floor(size / 2))
			for (let at = 0; at < value.length; at += size) yield value.slice(0, at) + value.slice(at + size);
	} else if (typeof value === "number") {
		if (value !== 0) yield 0;
		if (Math.abs(value) > 1) yield Math.trunc(value / 2);
	} else if (isList(value)) {
		for (let size = value.length; size >= 1; size = Math.floor(size / 2))
			for (let at = 0; at < value.length; at += size) yield value.toSpliced(at, size);
		for (const [at, item] of value.entries()) for (const less of smaller(item)) yield value.with(at, less);
	} else if (isRecord(value))
		for (const [name, member] of Object.entries(value))
			for (const less of smaller(member)) yield { ...value, [name]: less };
}
