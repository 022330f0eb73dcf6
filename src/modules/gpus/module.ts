/** GPUs: what the module is to the kernel (D27, D40, D44). */
import { isManaged, usesOwnGpus } from "../../kernel/launchers/index.ts";
import type { ServiceModule } from "../module.ts";
import { GPU_ROUTES } from "./routes.ts";

export const gpus: ServiceModule = {
	name: "gpus",
	// A platform that places workers has room for some of them, also where these have no GPUs.
	opensFor: ({ launcher, gpusPerWorker }) => isManaged(launcher.type) && (gpusPerWorker > 0 || !usesOwnGpus(launcher)),
	routes: GPU_ROUTES,
	commands: { heading: "Run", load: async () => [(await import("./commands.ts")).gpus] },
	open: async (kernel) => (await import("./open.ts")).openGpus(kernel),
};
