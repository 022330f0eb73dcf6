/** OpenAI's API in front of an endpoint (D32, D58): what the module is to the kernel. */
import type { ServiceModule } from "../module.ts";
import { BACKGROUND_ROUTES } from "./background/routes.ts";
import { ERRORS } from "./errors.ts";
import { OPENAI_ROUTES } from "./routes.ts";

export const openai: ServiceModule = {
	name: "openai",
	routes: [...OPENAI_ROUTES, ...BACKGROUND_ROUTES],
	errors: ERRORS,
	familyDescriptions: async () => (await import("./families.ts")).FAMILIES,
	// Webhooks of responses are sent although no client calls.
	opens: "start",
	open: async (kernel) => (await import("./open.ts")).openOpenai(kernel),
};
