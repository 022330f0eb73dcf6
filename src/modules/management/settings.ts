/** `management` of `sluice.yaml` (D49). */
import { dirname } from "node:path";
import type { ModuleSettings, SettingsSource } from "../../kernel/config/module-settings.ts";
import type { LauncherSettings } from "../../kernel/core/endpoints/endpoint.ts";
import { readEndpoint } from "../../kernel/launchers/endpoint-settings.ts";
import { resolvePaths } from "../../kernel/launchers/index.ts";
import type { Schema } from "../../kernel/lib/schema.ts";
import type { ManagementRules } from "./rules.ts";

const MANAGED_LAUNCHERS = ["docker", "kubernetes", "slurm"] as const;

function names(description: string, example: readonly string[], message: string): Schema {
	return {
		type: "array",
		maxItems: 1000,
		items: { type: "string", minLength: 1, maxLength: 1000 },
		description,
		examples: [example],
		"x-message": message,
	};
}

const PROPERTIES: Record<keyof ManagementRules, Schema> = {
	launcher: {
		oneOf: [
			{ enum: MANAGED_LAUNCHERS },
			{
				type: "object",
				required: ["type"],
				properties: { type: { enum: MANAGED_LAUNCHERS } },
				additionalProperties: true,
			},
		],
		description:
			"Launcher of the endpoints that RunPod's management API creates: docker, kubernetes or slurm, or an object " +
			"with the type and other settings of the launcher. Without it none can be created.",
		examples: ["docker", { type: "docker", hosts: "all", shmSize: "2g" }],
		"x-message": "must be docker, kubernetes, slurm, or an object such as { type: docker, hosts: all }.",
	},
	images: names(
		"Images that endpoints of the management API may have; * stands for any characters. Default: all.",
		["registry.example.com/*", "vllm/vllm-openai:*"],
		"must be a list of images, in which * stands for any characters, such as [registry.example.com/*].",
	),
	volumes: names(
		"Folders, volumes and claims that exist: a network volume with the same name stands for it. Another is new.",
		["/srv/models", "hf-cache"],
		"must be a list of folders, volumes or claims, such as [/srv/models].",
	),
};

const SCHEMA: Schema = {
	type: "object",
	additionalProperties: false,
	properties: PROPERTIES,
	description: "What RunPod's management API may use.",
	"x-message": "must be an object with launcher, images, volumes.",
};

type Given = Omit<ManagementRules, "launcher"> & { launcher?: string | LauncherSettings };

/** Placeholders for image and command, which requests name. */
const REQUESTED = { image: "worker", command: ["worker"] };

/** With absolute paths. */
function rulesFrom({ launcher: given, ...rules }: Given, { path, problems }: SettingsSource): ManagementRules {
	if (given === undefined) return rules;
	const launcher = typeof given === "string" ? { type: given } : given;
	// The image of a new endpoint is not on any machine yet.
	const settings = launcher.type === "docker" ? { pullPolicy: "missing", ...launcher } : launcher;
	const read = readEndpoint("management", { launcher: { ...REQUESTED, ...settings } });
	if (!read.ok) {
		problems.push(...read.faults.map(({ field, message }) => `${path}: management.${field} ${message}`));
		return rules;
	}
	return { ...rules, launcher: resolvePaths(settings, dirname(path)) };
}

export const SETTINGS: ModuleSettings<ManagementRules> = {
	schema: SCHEMA,
	from: (given, source) => rulesFrom(given as Given, source),
};
