/** Webhooks: what the module is to the kernel (spec 6, D21). */
import type { ServiceModule } from "../module.ts";
import { ERRORS } from "./errors.ts";
import { EVENTS } from "./events.ts";
import { WEBHOOK_ROUTES } from "./routes.ts";

export const webhooks: ServiceModule = {
	name: "webhooks",
	opens: "start",
	routes: WEBHOOK_ROUTES,
	errors: ERRORS,
	events: EVENTS,
	commands: { heading: "Run", load: async () => [(await import("./commands.ts")).webhooks] },
	familyDescriptions: async () => (await import("./families.ts")).FAMILIES,
	open: async (kernel) => (await import("./open.ts")).openWebhooks(kernel),
};
