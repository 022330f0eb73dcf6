/** Logs: what the module is to the kernel (D47, D51). */
import type { ServiceModule } from "../module.ts";
import { LOG_ROUTES } from "./routes.ts";

export const logs: ServiceModule = {
	name: "logs",
	routes: LOG_ROUTES,
	readsLog: true,
	commands: { heading: "Run", load: async () => (await import("./commands.ts")).LOG_COMMANDS },
	open: async (kernel) => (await import("./open.ts")).openLogs(kernel),
};
