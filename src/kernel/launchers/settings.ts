import { CUDA_VERSION } from "../core/workers/hosts.ts";
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

function modelNames(description: string): Schema {
	return {
		type: "array",
		minItems: 1,
		maxItems: 64,
		items: { type: "string", minLength: 1, maxLength: 100, "x-message": "must be the name of a model." },
		description,
		examples: [["NVIDIA L4", "NVIDIA A10"]],
		"x-message": "must be a list of 1 to 64 names such as NVIDIA L4, each as nvidia-smi prints it.",
	};
}

/** The members that any platform can decide on. */
export const GPU_NEED = {
	models: modelNames("Any of these models, by their whole names as nvidia-smi prints them, such as NVIDIA L4."),
	excludedModels: modelNames("None of these models, by their whole names."),
	memoryMinGb: {
		type: "number",
		exclusiveMinimum: 0,
		maximum: 10_000,
		description: "Least memory of each GPU, in 10^9 bytes.",
	},
	minCudaVersion: {
		...CUDA_VERSION,
		description: "Least CUDA version that the driver must run, such as '12.4'.",
	},
	allowedCudaVersions: {
		type: "array",
		maxItems: 64,
		items: CUDA_VERSION,
		description:
			"The newest CUDA version of the driver must be one of these. To allow newer drivers too, use minCudaVersion.",
		examples: [["12.4", "12.8"]],
		"x-message": "must be a list of versions in quotes, such as ['12.4', '12.8'].",
	},
} as const satisfies Record<string, Schema>;

export const MACHINE_GPU: Schema = {
	type: "object",
	additionalProperties: false,
	properties: {
		model: {
			type: "string",
			minLength: 1,
			maxLength: 100,
			description: "Part of the model's name, such as L4.",
		},
		...GPU_NEED,
	},
	description: "Which GPUs of gpusPerWorker its workers can use, as nvidia-smi reports them.",
	"x-message": "must be an object such as { model: L4, memoryMinGb: 24 }.",
};
