/** What the newest jobs of an endpoint show about its handler: an example of its input, and whether it is a chat. */
import { Failure, ask, askText, ofEndpoint, search } from "../../client/api.ts";
import { pretty, readExact } from "../../text/exact.ts";
import { readBeginning } from "../../values/jobs/job-title.ts";
import { hasPrompt } from "./picture-form.ts";
import type { JobList } from "../../client/shapes.ts";

export interface RecentInput {
	/** The input of the newest job; undefined where it has expired or is too long for an example. */
	example: unknown;
	/** One of the newest jobs came by OpenAI's API, or holds messages. */
	chat: boolean;
	/** The input of the newest job has no prompt. */
	promptless: boolean;
	/** The model of the newest of those. */
	model: string | undefined;
}

/** Jobs whose inputs are looked through. */
const READ = 20;
/** Characters of an input that is still good to edit. */
const LONGEST = 20_000;

const NOTHING: RecentInput = { example: undefined, chat: false, promptless: false, model: undefined };

export async function recentInput(endpoint: string, signal: AbortSignal): Promise<RecentInput> {
	try {
		const list = ofEndpoint(endpoint, `/jobs${search({ limit: READ, preview: "true" })}`);
		const { jobs } = await ask<JobList>(list, { signal });
		const [last] = jobs;
		if (last === undefined) return NOTHING;
		const inputs = jobs.map(({ inputPreview = "" }) => (readBeginning(inputPreview) ?? {}) as Record<string, unknown>);
		const path = ofEndpoint(endpoint, `/jobs/${encodeURIComponent(last.id)}`);
		const { input } = readExact(await askText(path, { signal })) as { input?: unknown };
		return {
			example: pretty(input).length <= LONGEST ? input : undefined,
			chat: inputs.some(isChat),
			promptless: input !== undefined && !hasPrompt(input),
			model: inputs.map(modelOf).find((model) => model !== undefined),
		};
	} catch (error) {
		if (error instanceof Failure) return NOTHING;
		throw error;
	}
}

function isChat({ openai_route: route, messages }: Record<string, unknown>): boolean {
	return route !== undefined || Array.isArray(messages);
}

function modelOf(input: Record<string, unknown>): string | undefined {
	const { model } = ((isChat(input) ? (input["openai_input"] ?? input) : undefined) ?? {}) as { model?: unknown };
	return typeof model === "string" ? model : undefined;
}
