import type { Schema } from "../lib/schema.ts";

/** `itemMessage`: what each text must be. */
export function list(pattern: string, itemMessage: string, rest: Schema): Schema {
	return { type: "array", items: { type: "string", pattern, "x-message": itemMessage }, ...rest };
}

export function integer(minimum: number, maximum: number, description: string): Schema {
	return { type: "integer", minimum, maximum, description };
}

const WORDS = {
	type: "array",
	minItems: 1,
	items: { type: "string", "x-message": "must be text; put quotes around a number." },
} as const satisfies Schema;

/** `isShown`: the example is the placeholder of the console's form. */
export function command(description: string, example: readonly string[], isShown = true): Schema {
	return {
		...WORDS,
		title: "Command",
		description,
		...(isShown && { examples: [example] }),
		"x-message": `must be a list of the command and its arguments, such as [${example.join(", ")}].`,
	};
}

export const CONTAINER_COMMAND = command(
	"Replaces the CMD of the image; its ENTRYPOINT stays.",
	["python", "-u", "handler.py"],
	false,
);

export const ENTRYPOINT: Schema = {
	...WORDS,
	description: "Replaces the ENTRYPOINT of the image, and its CMD: the command alone gives the arguments then.",
	"x-message": "must be a list of a program and its arguments, such as [python, -u].",
};

export function image(description: string, example: string): Schema {
	return {
		type: "string",
		pattern: "^\\S{1,255}$",
		title: "Image",
		description,
		examples: [example],
		"x-message": `must be the name of an image, such as ${example}.`,
	};
}

export function cwd(where = ""): Schema {
	return {
		type: "string",
		minLength: 1,
		title: "Folder",
		description:
			`Working directory${where}. In sluice.yaml relative to that file and by default its folder; ` +
			"elsewhere an absolute path and by default that of the service.",
		"x-message": "must be the path of a directory.",
	};
}

export function volumes(description: string): Schema {
	return list("^[^:]+:/[^:]*(:(ro|rw))?$", "must be source:/path or source:/path:ro.", {
		description,
		"x-message": "must be a list of source:/path, each perhaps with :ro behind it.",
	});
}
