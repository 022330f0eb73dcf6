/** The web console, its sessions, and the documentation beside it: what the module is to the kernel (D31, D40). */
import type { ServiceModule } from "../module.ts";
import { ERRORS } from "./errors.ts";
import { CONSOLE_ROUTES } from "./routes.ts";

export const console: ServiceModule = {
	name: "console",
	routes: CONSOLE_ROUTES,
	errors: ERRORS,
	commands: {
		heading: "Access",
		async load() {
			const { consoleCommand, openCommand } = await import("./commands.ts");
			return [openCommand, consoleCommand, (await import("./session-commands.ts")).sessions];
		},
	},
	authenticates: true,
	open: async (kernel) => (await import("./open.ts")).openConsole(kernel),
};
