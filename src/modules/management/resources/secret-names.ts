/** Secrets by name in variables of workers: `{{ RUNPOD_SECRET_name }}`. */
import type { Schema } from "../../../kernel/lib/schema.ts";

type Variables = Readonly<Record<string, string>>;

export const SECRET_NAME = {
	type: "string",
	maxLength: 191,
	pattern: "^(?![Rr][Uu][Nn][Pp][Oo][Dd])[A-Za-z_][A-Za-z0-9_./-]*$",
	description: "Name, as in {{ RUNPOD_SECRET_name }}. It cannot be changed.",
	examples: ["hf_token"],
	"x-message":
		"must be 1 to 191 of the characters a-z, A-Z, 0-9, _, ., / and -, begin with a letter or _, " +
		"and not begin with RUNPOD.",
} as const satisfies Schema;

/** In UTF-8 at most what Linux accepts as a variable. */
export const MAX_SECRET_CHARS = 32_768;

/** A text without it has no placeholder. */
export const PLACEHOLDER_BEGIN = /\{\{\s*RUNPOD_SECRET_/;

/** Any name, so that one that no secret can have is reported and not handed to a worker. */
const PLACEHOLDER = /\{\{\s*RUNPOD_SECRET_([^\s{}]*)\s*\}\}/g;

/** The variables with the secrets that each names. */
function* namesIn(env: Variables): Generator<{ variable: string; secret: string }> {
	for (const [variable, value] of Object.entries(env))
		for (const [, secret = ""] of value.matchAll(PLACEHOLDER)) yield { variable, secret };
}

export function secretNames(env: Variables): ReadonlySet<string> {
	return new Set(namesIn(env).map(({ secret }) => secret));
}

/** The first variable that names a secret which is not `known`. */
export function unknownSecret(
	env: Variables,
	known: { has(name: string): boolean },
): { variable: string; secret: string } | undefined {
	return namesIn(env).find(({ secret }) => !known.has(secret));
}

/** Placeholders of other secrets stay. A value is not searched for placeholders. */
export function withSecrets(env: Variables, values: ReadonlyMap<string, string>): Record<string, string> {
	const replaced = (text: string): string =>
		text.replace(PLACEHOLDER, (placeholder, name: string) => values.get(name) ?? placeholder);
	return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, replaced(value)]));
}
