/** Finds what an earlier attempt of the same run has submitted, so that it is not submitted twice. */
import { readStart } from "../exchange/exchange.ts";
import { parsedJson } from "../exchange/server-call.ts";
import { JobFailure } from "../job-failure.ts";
import { holds } from "../mapping/condition.ts";
import type { Call, ExistingMapping } from "../mapping/mapping.ts";
import { fill, fillPointer, type Names, textOf } from "../mapping/template.ts";
import type { Send } from "./files.ts";

export interface ExistingOptions {
	names: Names;
	send: Send;
	/** Bound of an answer. */
	maxBytes: number;
}

/** What stands for the answer to the submission. Undefined if the job must be submitted. */
export async function findExisting(
	{ checks, submit, discard }: ExistingMapping,
	{ names, send, maxBytes }: ExistingOptions,
): Promise<unknown> {
	/** Undefined if the server refused the call: it does not have the job. */
	async function textOfAnswer(call: Call): Promise<string | undefined> {
		try {
			const { text, end } = await readStart(await send(call, {}), maxBytes);
			return end === "whole" ? text : undefined;
		} catch (error) {
			if (error instanceof JobFailure) return undefined;
			throw error;
		}
	}
	for (const { call, where, contains } of checks) {
		const text = await textOfAnswer(call);
		if (text === undefined) continue;
		if (contains !== undefined && !text.includes(textOf(fill(contains, names)))) continue;
		if (where && !holds({ ...where, at: fillPointer(where.at, names) }, parsedJson(text))) continue;
		return fill(submit, names);
	}
	if (discard) await textOfAnswer(discard);
	return undefined;
}
