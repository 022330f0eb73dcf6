import type { OpenModule } from "../../kernel/module.ts";
import type { HandlersOf } from "../../kernel/http/server/route.ts";
import { openai } from "./handlers.ts";
import type { OPENAI_ROUTES } from "./routes.ts";

const HANDLERS: HandlersOf<typeof OPENAI_ROUTES> = { openai, sdkOpenai: openai };

export function openOpenai(): OpenModule {
	return { handlers: HANDLERS };
}
