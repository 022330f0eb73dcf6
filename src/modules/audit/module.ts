/** The audit log: what the module is to the kernel (D42). */
import type { ServiceModule } from "../module.ts";
import { AUDIT_ROUTES } from "./routes.ts";

export const audit: ServiceModule = {
	name: "audit",
	routes: AUDIT_ROUTES,
	opens: "start",
	commands: { heading: "Access", load: async () => [(await import("./commands.ts")).audit] },
	open: async (kernel) => (await import("./open.ts")).openAudit(kernel),
};
