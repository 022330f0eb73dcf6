/**
 * The form for endpoints that make pictures: fields are the members of an example input that such
 * workers call alike, wherever they stand in it. What the form does not know goes along unchanged.
 */
import { exactNumber, readExact } from "../../text/exact.ts";

/** Names of members by what they mean, the usual one first. */
const NAMES = {
	prompt: ["prompt", "positive_prompt", "text"],
	negative: ["negative_prompt"],
	width: ["width"],
	height: ["height"],
	size: ["size", "resolution"],
	steps: ["steps", "num_inference_steps"],
	guidance: ["guidance_scale", "cfg", "cfg_scale"],
	seed: ["seed", "noise_seed"],
} as const;

export type PictureRole = keyof typeof NAMES;

export interface PictureField {
	role: PictureRole;
	/** Where it stands in the input. */
	path: readonly string[];
	value: string;
	number: boolean;
}

/** The input where no job has shown one. */
export const PICTURE_EXAMPLE = { prompt: "", width: 512, height: 512, seed: 1 };

/** Levels of an input that are searched. */
const DEEPEST = 6;

/** The fields in the order above; the first member of each meaning counts. */
export function pictureFields(example: unknown): PictureField[] {
	const found = new Map<PictureRole, PictureField>();
	const walk = (value: unknown, path: readonly string[]): void => {
		if (typeof value !== "object" || value === null || path.length > DEEPEST) return;
		const members = Object.entries(value);
		for (const [name, member] of members) {
			const role = roleOf(name);
			const text = leaf(member);
			if (role === undefined || text === undefined || found.has(role)) continue;
			const number = typeof member !== "string";
			found.set(role, { role, path: [...path, name], value: text, number });
		}
		for (const [name, member] of members) if (exactNumber(member) === undefined) walk(member, [...path, name]);
	};
	walk(example, []);
	return (Object.keys(NAMES) as PictureRole[]).flatMap((role) => found.get(role) ?? []);
}

export const hasPrompt = (example: unknown): boolean => pictureFields(example).some(({ role }) => role === "prompt");

/** Whether an input is one of a worker that makes pictures. */
export function isPictureInput(example: unknown): boolean {
	const roles = new Set(pictureFields(example).map(({ role }) => role));
	return roles.has("prompt") && ["width", "height", "size", "steps"].some((role) => roles.has(role as PictureRole));
}

function roleOf(name: string): PictureRole | undefined {
	return (Object.keys(NAMES) as PictureRole[]).find((role) =>
		(NAMES[role] as readonly string[]).includes(name.toLowerCase()),
	);
}

function leaf(value: unknown): string | undefined {
	if (typeof value === "string") return value;
	return typeof value === "number" ? String(value) : exactNumber(value);
}

/** The example with what was typed; numbers of any size stay as they were typed. */
export function pictureInput(
	example: unknown,
	fields: readonly PictureField[],
	typed: Readonly<Partial<Record<PictureRole, string>>>,
): unknown {
	return fields.reduce((input, { role, path, value, number }) => {
		const text = typed[role] ?? value;
		return replaced(input, path, number ? numberIn(text) : text);
	}, example);
}

function numberIn(text: string): unknown {
	return /^\s*-?\d+(?:\.\d+)?\s*$/.test(text) ? readExact(text) : text;
}

function replaced(value: unknown, [name, ...rest]: readonly string[], by: unknown): unknown {
	if (name === undefined) return by;
	if (Array.isArray(value))
		return value.map((item: unknown, index) => (String(index) === name ? replaced(item, rest, by) : item));
	const members = value as Readonly<Record<string, unknown>>;
	return { ...members, [name]: replaced(members[name], rest, by) };
}
