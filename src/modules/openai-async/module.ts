/** OpenAI's asynchronous APIs (D57): what the module is to the kernel. */
import type { ServiceModule } from "../module.ts";
import { ERRORS } from "./errors.ts";
import { EVENTS } from "./events.ts";
import { BATCH_ROUTES } from "./routes.ts";

export const openaiAsync: ServiceModule = {
	name: "openai-async",
	routes: BATCH_ROUTES,
	errors: ERRORS,
	events: EVENTS,
	familyDescriptions: async () => (await import("./families.ts")).FAMILIES,
	commands: { heading: "Data", load: async () => [(await import("./commands/batches.ts")).batches] },
	// Batches go on although no client calls.
	opens: "start",
	open: async (kernel) => (await import("./open.ts")).openOpenaiAsync(kernel),
};
