/** Metrics: what the module is to the kernel (D39, D40). */
import type { ServiceModule } from "../module.ts";
import { METRICS_ROUTES } from "./routes.ts";

export const metrics: ServiceModule = {
	name: "metrics",
	// Its counts are of the time since the start.
	opens: "start",
	routes: METRICS_ROUTES,
	open: async (kernel) => (await import("./open.ts")).openMetrics(kernel),
};
