/** Workers that are started elsewhere and attach themselves (D25). */
import type { LauncherDefinition } from "../definition.ts";

export const EXTERNAL: LauncherDefinition = {
	type: "external",
	managed: false,
	create: async () => (await import("./launcher.ts")).externalLauncher(),
};
