/** RunPod's management API v2 (D49): what the module is to the kernel. */
import type { ServiceModule } from "../module.ts";
import { ERRORS } from "./errors.ts";
import { PLACEHOLDER_BEGIN } from "./resources/secret-names.ts";
import { MANAGEMENT_ROUTES } from "./routes/routes.ts";
import type { ManagementRules } from "./rules.ts";
import { SETTINGS } from "./settings.ts";

export const management: ServiceModule<ManagementRules> = {
	name: "management",
	settings: SETTINGS,
	opens: "use",
	routes: MANAGEMENT_ROUTES,
	errors: ERRORS,
	registryLogins: "id",
	fillsVariables: PLACEHOLDER_BEGIN,
	commands: { heading: "Run", load: async () => (await import("./commands/commands.ts")).COMMANDS },
	open: async (kernel, rules) => (await import("./open.ts")).openManagement(kernel, rules),
};
