/** OpenAI's API in front of an endpoint (D32): what the module is to the kernel. */
import type { ServiceModule } from "../module.ts";
import { OPENAI_ROUTES } from "./routes.ts";

export const openai: ServiceModule = {
	name: "openai",
	routes: OPENAI_ROUTES,
	familyDescriptions: async () => (await import("./families.ts")).FAMILIES,
	open: async (kernel) => (await import("./open.ts")).openOpenai(kernel),
};
