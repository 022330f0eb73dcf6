/** OpenAI's videos (D62): what the module is to the kernel. */
import type { ServiceModule } from "../module.ts";
import { ERRORS } from "./errors.ts";
import { VIDEO_ROUTES } from "./routes.ts";

export const openaiVideos: ServiceModule = {
	name: "openai-videos",
	routes: VIDEO_ROUTES,
	errors: ERRORS,
	open: async (kernel) => ({ handlers: (await import("./handlers.ts")).videoHandlers(kernel) }),
};
