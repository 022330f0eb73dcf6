/** Opens the module at the start, since webhooks of earlier responses may be due; what runs is loaded when needed. */
import { counts } from "../../kernel/engine/metrics/labelled.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import type { Kernel, OpenModule } from "../../kernel/module.ts";
import { BACKGROUND_ROUTES } from "./background/routes.ts";
import type { OpenaiState } from "./handlers.ts";

export function openOpenai(kernel: Kernel): OpenModule {
	const tokens = counts(kernel.events);
	let loaded: Promise<{ run: (call: Call<"endpoint" | "rest">) => Promise<void> }> | undefined;
	const handle = async (call: Call<"endpoint" | "rest">): Promise<void> => {
		loaded ??= load();
		await (await loaded).run(call);
	};

	async function load() {
		const [{ openai }, { modelLists }] = await Promise.all([import("./handlers.ts"), import("./model-lists.ts")]);
		const state: OpenaiState = { kernel, tokens, models: modelLists(kernel) };
		return { run: (call: Call<"endpoint" | "rest">) => openai(call, state) };
	}

	let background: Promise<Readonly<Record<string, (call: never) => unknown>>> | undefined;
	const ofBackground = BACKGROUND_ROUTES.map(({ name }) => {
		const late = async (call: never): Promise<unknown> => {
			background ??= import("./background/handlers.ts").then((its) => its.backgroundHandlers(kernel, handle));
			return await (await background)[name]!(call);
		};
		return [name, late] as const;
	});
	return {
		handlers: { openai: handle, sdkOpenai: handle, ...Object.fromEntries(ofBackground) },
		families: async () => (await import("./families.ts")).familiesOf(tokens),
		hooks: {
			webhookBody(delivery) {
				// No other request of this module has a webhook.
				if (delivery.operation !== "openai") return undefined;
				return import("./background/webhook-body.ts").then((its) => its.webhookBody(kernel, delivery));
			},
		},
	};
}
