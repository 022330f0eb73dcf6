/** Workers as containers of a Docker daemon (D25). */
import type { LauncherDefinition } from "../definition.ts";

export const DOCKER: LauncherDefinition = {
	type: "docker",
	managed: true,
	create: async (dependencies) => (await import("./launcher.ts")).dockerLauncher(dependencies),
};
