/** Alerts for people: what the module is to the kernel (D53). */
import type { ServiceModule } from "../module.ts";
import { ERRORS } from "./errors.ts";
import { EVENTS } from "./events.ts";
import { ALERT_ROUTES } from "./routes.ts";
import { ALERTS_SCHEMA, alertSettings, type AlertSettings, type AlertsFile } from "./settings.ts";

export const alerts: ServiceModule<AlertSettings> = {
	name: "alerts",
	settings: { schema: ALERTS_SCHEMA, from: (given) => alertSettings(given as AlertsFile) },
	routes: ALERT_ROUTES,
	errors: ERRORS,
	events: EVENTS,
	commands: { heading: "Run", load: async () => [(await import("./commands.ts")).alerts] },
	open: async (kernel, settings) => (await import("./open.ts")).openAlerts(kernel, settings),
};
