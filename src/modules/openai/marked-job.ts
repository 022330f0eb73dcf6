/** Finds jobs whose input has a member that only this service writes: it says what they are (D58, D62). */
import { cut, type JsonBlocks } from "../../kernel/lib/json/json-text.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import { inSlices } from "../../kernel/http/exchange/reply.ts";
import { hold } from "../../kernel/http/memory/call-memory.ts";
import type { Kernel } from "../../kernel/module.ts";
import type { JobRecord } from "../../kernel/store/contract/jobs.ts";
import { blocksOf, membersOf, partOf } from "./background/members.ts";

export interface MarkedJob {
	/** A large output is not read; its size is known. */
	found: JobRecord;
	/** JSON of the member. */
	mark: string;
	/** The request. */
	body: JsonBlocks;
	/** Size of a large input, for which the call holds memory. Else 0. */
	inputBytes: number;
}

/** Undefined for a job that is unknown, expired, or without the member `mark`. */
export async function markedJob(
	{ store: { jobs }, now }: Pick<Kernel, "store" | "now">,
	call: Call,
	name: { endpoint: string; id: string },
	mark: string,
): Promise<MarkedJob | undefined> {
	let found = await jobs.record({ ...name, now: now(), large: "size" });
	if (found?.job.operation !== "openai" || found.job.erased) return undefined;
	const { inputBytes = 0, outputBytes } = found;
	if (inputBytes > 0) {
		await hold(call, inputBytes + (outputBytes ?? 0));
		const input = (await jobs.record({ ...name, now: now() }))?.input;
		if (input === undefined) return undefined;
		found = { ...found, input };
	}
	const blocks = found.input === undefined ? [] : blocksOf(found.input);
	const { [mark]: own, openai_input: request } = (await inSlices(membersOf(blocks, [mark, "openai_input"]))) ?? {};
	if (!own || !request) return undefined;
	return { found, mark: partOf(blocks, own), body: cut(blocks, request.start, request.end), inputBytes };
}
