/** Workers as processes of this machine (D25). */
import type { LauncherDefinition } from "../definition.ts";

export const PROCESS: LauncherDefinition = {
	type: "process",
	managed: true,
	create: async (dependencies) => (await import("./launcher.ts")).processLauncher(dependencies),
};
