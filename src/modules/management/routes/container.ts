/** Members of requests that describe a container: the same of templates and endpoints (D49). */
import { ARGS, STORED_MEMBERS } from "../../../kernel/core/endpoints/management-setting.ts";
import type { Schema } from "../../../kernel/lib/schema.ts";

function texts(item: Schema, description: string, example: readonly string[]): Schema {
	return { type: "array", items: item, description, examples: [example] };
}

const WORD: Schema = { type: "string", pattern: "^[^\\0]*$", "x-message": "must be text without NUL." };

/** Members that are left out are those of the template or of the image, or stay as they are. */
export const CONTAINER = {
	image: {
		type: "string",
		pattern: "^\\S{1,255}$",
		description: "Image of the worker.",
		examples: ["registry.example.com/captions:3"],
		"x-message": "must be the name of an image, such as registry.example.com/captions:3.",
	},
	args: {
		...ARGS,
		pattern: "^[^\\0]*$",
		"x-message": "must be text of at most 100000 characters without NUL.",
		description:
			"Command: words separated by spaces, without quotes, replace the CMD of the image; JSON has entrypoint, cmd or " +
			"both. Empty: those of the image.",
	},
	cmd: texts(WORD, "Replaces the CMD of the image; [] restores it.", ["python", "-u", "handler.py"]),
	entrypoint: texts(WORD, "Replaces the ENTRYPOINT of the image; [] restores it.", ["/bin/sh", "-c"]),
	disk: { ...STORED_MEMBERS.disk, description: "GB. Stored and returned." },
	ports: { ...STORED_MEMBERS.ports, description: "Stored and returned.", examples: [["8000/http"]] },
	env: {
		type: "object",
		propertyNames: {
			type: "string",
			pattern: "^[^=\\0]+$",
			"x-message": "must be at least one character, without '=' and NUL.",
		},
		additionalProperties: WORD,
		description: "Variables of workers, all of them. {{ RUNPOD_SECRET_name }} is replaced by that secret.",
		examples: [{ MODEL: "small" }],
		"x-message": "must be an object of names to texts.",
	},
	registry: {
		type: "string",
		minLength: 1,
		description: "Id of a registry, with whose login the image is pulled; null: none.",
		examples: ["3f9c2a17be"],
		"x-message": "must be an id of GET /v2/registries, or null.",
	},
} as const satisfies Record<string, Schema>;
