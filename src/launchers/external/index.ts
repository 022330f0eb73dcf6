/** Workers that start elsewhere and attach themselves (D25). */
import type { LauncherDefinition } from "../definition.ts";

export const EXTERNAL: LauncherDefinition = {
	type: "external",
	title: "Started elsewhere",
	description: "Workers are started elsewhere, with the variables of 'sluice worker-env'.",
	managed: false,
	settings: {},
	create: async () => (await import("./launcher.ts")).externalLauncher(),
};
