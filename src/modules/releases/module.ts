/** Releases: what the module is to the kernel (D50). */
import type { ServiceModule } from "../module.ts";
import { ERRORS } from "./errors.ts";
import { EVENTS } from "./events.ts";
import { RELEASE_ROUTES } from "./routes.ts";

export const releases: ServiceModule = {
	name: "releases",
	opens: "start",
	routes: RELEASE_ROUTES,
	errors: ERRORS,
	events: EVENTS,
	commands: { heading: "Run", load: async () => [(await import("./commands.ts")).releases] },
	familyDescriptions: async () => (await import("./families.ts")).FAMILIES,
	open: async (kernel) => (await import("./open.ts")).openReleases(kernel),
};
