/** Hosts of the launcher docker, for operators (D44): what the module is to the kernel besides its launcher. */
import type { ServiceModule } from "../module.ts";
import { ERRORS } from "./errors.ts";
import { HOST_ROUTES } from "./routes.ts";

export const docker: ServiceModule = {
	name: "docker",
	routes: HOST_ROUTES,
	errors: ERRORS,
	commands: { heading: "Run", load: async () => [(await import("./commands.ts")).hosts] },
	open: async ({ hosts }) => ({ handlers: (await import("./handlers.ts")).hostHandlers(hosts) }),
};
