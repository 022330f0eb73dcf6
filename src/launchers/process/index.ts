/** Workers as local processes (D25). */
import { resolve } from "node:path";
import type { LauncherDefinition } from "../definition.ts";
import { SETTINGS } from "./settings.ts";
import type { ProcessSettings } from "./settings.ts";

export const PROCESS: LauncherDefinition<ProcessSettings> = {
	type: "process",
	title: "A command on the service's machine",
	description:
		"Workers are processes on the machine of the service, started when jobs arrive and stopped when none are left.",
	managed: true,
	settings: SETTINGS,
	resolvePaths: (settings, folder) => ({
		...settings,
		cwd: resolve(folder, settings.cwd ?? "."),
	}),
	create: async (dependencies) => (await import("./launcher.ts")).processLauncher(dependencies),
	doctor: async (endpoints, env) => (await import("./doctor.ts")).findings(endpoints, env),
};
