/** What the preset of an HTTP server proposes for jobs of an endpoint. */
import { Failure } from "../../client/api.ts";
import { readPresets, readServer } from "../../modules/http-workers/http-server.ts";
import { type Input, PRESET_FORMS, type PresetForm } from "../../modules/http-workers/preset-forms.ts";
import { isChat } from "../../modules/http-workers/server-state.ts";
import type { RecentInput } from "./recent-input.ts";

/** A preset's form with the preset's example of an input. */
export interface ProposedForm {
	form: PresetForm;
	example: Input;
}

/** For the first job, and the form for all jobs, if the preset has one. */
export interface ProposedInput {
	first: Partial<RecentInput>;
	form?: ProposedForm | undefined;
}

/** Nothing for a mapping without a preset that has an example. */
export async function proposedInput(endpoint: string, signal: AbortSignal): Promise<ProposedInput> {
	try {
		const [{ preset, mapping }, { presets }] = await Promise.all([readServer(endpoint, signal), readPresets(signal)]);
		const input = presets.find(({ name }) => name === preset)?.input as Input | undefined;
		const form = PRESET_FORMS[preset];
		return {
			first: {
				example: input,
				chat: isChat(mapping),
				model: typeof input?.["model"] === "string" ? input["model"] : undefined,
			},
			form: form && input && { form, example: input },
		};
	} catch (error) {
		if (error instanceof Failure) return { first: {} };
		throw error;
	}
}
