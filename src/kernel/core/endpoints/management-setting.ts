/** Members of RunPod's management API that the setting `management` stores as they were given (D49). */
import type { Schema } from "../../lib/schema.ts";

export const FLASHBOOT = ["OFF", "FLASHBOOT", "PRIORITY_FLASHBOOT"] as const;

/** GB, of endpoints that were made elsewhere and of requests without it. */
export const DEFAULT_DISK = 20;

function texts(items: Schema, rest: Schema = {}): Schema {
	return { type: "array", maxItems: 64, items, ...rest };
}

const NAME: Schema = { type: "string", minLength: 1, maxLength: 200 };

const CUDA_VERSION: Schema = {
	type: "string",
	pattern: "^\\d{1,3}\\.\\d{1,3}$",
	"x-message": "must be a version such as 12.4.",
};

export const POOLS = texts(NAME, { minItems: 1, description: "GPU pools, models or ANY." });

export const GPU_MEMBERS = {
	excludedTypes: texts({
		type: "string",
		pattern: "^[^\\s-](?:.*\\S)?$",
		maxLength: 200,
		"x-message": "must be a model without spaces around it, and must not begin with -.",
	}),
	allowedCudaVersions: texts(CUDA_VERSION),
} as const satisfies Record<string, Schema>;

export const MIN_CUDA_VERSION: Schema = {
	type: "string",
	pattern: "^(?:\\d{1,3}\\.\\d{1,3})?$",
	"x-message": "must be a version such as 12.4; an empty text removes it.",
};

/** `memory` is in answers only: it is accepted, and ignored. */
export const CPU: Schema = {
	type: "array",
	minItems: 1,
	maxItems: 64,
	items: {
		type: "object",
		additionalProperties: false,
		required: ["id", "vcpuCount"],
		properties: { id: NAME, vcpuCount: { type: "integer", minimum: 2 }, memory: { type: "integer", minimum: 0 } },
	},
};

export const STORED_MEMBERS = {
	disk: { type: "integer", minimum: 1, maximum: 1_000_000, description: "GB." },
	ports: texts(NAME),
	flashboot: { enum: FLASHBOOT },
	dataCenterIds: texts(NAME),
	networkVolumes: texts(NAME),
} as const satisfies Record<string, Schema>;

export const ARGS: Schema = { type: "string", maxLength: 100_000 };

/** The setting `management` of an endpoint. */
export const MANAGEMENT_SETTING: Schema = {
	type: "object",
	additionalProperties: false,
	required: ["disk"],
	properties: {
		...STORED_MEMBERS,
		args: ARGS,
		gpu: {
			type: "object",
			additionalProperties: false,
			required: ["pools"],
			properties: { pools: POOLS, ...GPU_MEMBERS, minCudaVersion: MIN_CUDA_VERSION },
		},
		cpu: CPU,
	},
	description:
		"What RunPod's management API stores of an endpoint, as it was given there. Other settings say what it means here.",
	examples: [{ disk: 20, ports: [], flashboot: "OFF" }],
	"x-message": "must be an object with disk.",
};

/** Members as they were given, where other settings have less or nothing of them. */
export interface ManagementSetting {
	/** GB. */
	disk: number;
	ports?: readonly string[];
	flashboot?: (typeof FLASHBOOT)[number];
	dataCenterIds?: readonly string[];
	networkVolumes?: readonly string[];
	args?: string;
	gpu?: StoredGpu;
	cpu?: readonly { id: string; vcpuCount: number }[];
}

export interface StoredGpu {
	pools: readonly string[];
	excludedTypes?: readonly string[];
	allowedCudaVersions?: readonly string[];
	minCudaVersion?: string;
}
