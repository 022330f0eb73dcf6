/** What the preset of an HTTP server proposes for the first job of an endpoint. */
import { Failure } from "../../client/api.ts";
import { readPresets, readServer } from "../../modules/http-workers/http-server.ts";
import { isChat } from "../../modules/http-workers/server-state.ts";
import type { RecentInput } from "./recent-input.ts";

/** Nothing for a mapping without a preset that has an example. */
export async function proposedInput(endpoint: string, signal: AbortSignal): Promise<Partial<RecentInput>> {
	try {
		const [{ preset, mapping }, { presets }] = await Promise.all([readServer(endpoint, signal), readPresets(signal)]);
		const input = presets.find(({ name }) => name === preset)?.input as { model?: unknown } | undefined;
		return {
			example: input,
			chat: isChat(mapping),
			model: typeof input?.model === "string" ? input.model : undefined,
		};
	} catch (error) {
		if (error instanceof Failure) return {};
		throw error;
	}
}
