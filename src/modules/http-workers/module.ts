/** HTTP workers: what the module is to the kernel. */
import { memberOf } from "../../kernel/core/endpoints/endpoint-member.ts";
import type { ServiceModule } from "../module.ts";
import { ERRORS } from "./errors.ts";
import { HTTP } from "./member.ts";
import { HTTP_ROUTES } from "./routes.ts";

export const httpWorkers: ServiceModule = {
	name: "http-workers",
	opensFor: (endpoint) => memberOf(endpoint, HTTP) !== undefined,
	routes: HTTP_ROUTES,
	errors: ERRORS,
	commands: { heading: "Run", load: async () => (await import("./commands/commands.ts")).COMMANDS },
	open: async () => (await import("./open.ts")).openHttpWorkers(),
};
