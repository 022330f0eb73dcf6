import { counts } from "../../kernel/engine/metrics/labelled.ts";
import type { HandlersOf } from "../../kernel/http/server/route.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import type { Kernel, OpenModule } from "../../kernel/module.ts";
import { familiesOf } from "./families.ts";
import { openai } from "./handlers.ts";
import type { OPENAI_ROUTES } from "./routes.ts";

export function openOpenai({ events }: Kernel): OpenModule {
	const tokens = counts(events);
	const handle = (call: Call<"endpoint" | "rest">): Promise<void> => openai(call, tokens);
	const handlers: HandlersOf<typeof OPENAI_ROUTES> = { openai: handle, sdkOpenai: handle };
	return { handlers, families: async () => familiesOf(tokens) };
}
