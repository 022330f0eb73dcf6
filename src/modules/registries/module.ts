/** Logins to registries of container images (D45): what the module is to the kernel. */
import type { ServiceModule } from "../module.ts";
import { ERRORS } from "./errors.ts";
import { REGISTRY_ROUTES } from "./routes.ts";
import { REGISTRIES_SCHEMA, registrySettings, type RegistrySettings } from "./settings.ts";

export const registries: ServiceModule<RegistrySettings> = {
	name: "registries",
	settings: {
		schema: REGISTRIES_SCHEMA,
		from: (given, source) => registrySettings(given as Parameters<typeof registrySettings>[0], source),
	},
	routes: REGISTRY_ROUTES,
	errors: ERRORS,
	commands: { heading: "Access", load: async () => [(await import("./commands.ts")).registries] },
	registryLogins: "host",
	open: async (kernel, settings) => (await import("./open.ts")).openRegistries(kernel, settings),
};
