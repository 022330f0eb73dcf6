import { counts } from "../../kernel/engine/metrics/labelled.ts";
import type { HandlersOf } from "../../kernel/http/server/route.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import type { Kernel, OpenModule } from "../../kernel/module.ts";
import { familiesOf } from "./families.ts";
import { openai } from "./handlers.ts";
import { modelLists } from "./model-lists.ts";
import type { OPENAI_ROUTES } from "./routes.ts";

export function openOpenai(kernel: Kernel): OpenModule {
	const tokens = counts(kernel.events);
	const models = modelLists(kernel);
	const handle = (call: Call<"endpoint" | "rest">): Promise<void> => openai(call, { tokens, models });
	const handlers: HandlersOf<typeof OPENAI_ROUTES> = { openai: handle, sdkOpenai: handle };
	return { handlers, families: async () => familiesOf(tokens) };
}
