/** Workers on a platform that exists in this process only: all that a new launcher has to write. */
import { ok } from "../../../src/kernel/core/finding.ts";
import type { LauncherDefinition } from "../../../src/kernel/launchers/definition.ts";

export interface PretendSettings {
	type: "pretend";
	partition: string;
	note?: string;
}

export const PRETEND: LauncherDefinition<PretendSettings> = {
	type: "pretend",
	title: "A pretend platform",
	description: "Workers are objects in the process of a test.",
	managed: true,
	settings: {
		required: ["partition"],
		properties: {
			partition: {
				type: "string",
				maxLength: 20,
				title: "Partition",
				description: "Part of the platform that runs the workers.",
				examples: ["gpu"],
			},
			note: { type: "string", default: "none", description: "Text for people." },
		},
	},
	placesGpus: () => true,
	keepsWorkers: ["note"],
	resolvePaths: (settings, folder) => ({ ...settings, note: `from ${folder}` }),
	create: async (dependencies) => (await import("./launcher.ts")).pretendLauncher(dependencies),
	doctor: async (endpoints) =>
		endpoints.map(({ id, launcher }) => ok(`endpoint ${id}`, `Partition ${launcher.partition}.`)),
};
