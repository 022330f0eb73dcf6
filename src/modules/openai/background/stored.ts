/** Finds a background response: a job whose input says that it is one (D58). */
import { ApiError } from "../../../kernel/core/errors.ts";
import { cut } from "../../../kernel/lib/json/json-text.ts";
import type { Call } from "../../../kernel/http/exchange/call.ts";
import { inSlices } from "../../../kernel/http/exchange/reply.ts";
import { hold, holdNow } from "../../../kernel/http/memory/call-memory.ts";
import type { Kernel } from "../../../kernel/module.ts";
import type { JobRecord } from "../../../kernel/store/contract/jobs.ts";
import { ERRORS } from "../errors.ts";
import { atOnce, blocksOf, type Members, membersOf, partOf } from "./members.ts";
import { REPEATED, repeatedIn, responseId, type Shown, shownOf } from "./response.ts";

/** The member of a job's input that makes it a background response. */
export const MARK = "openai_background";

export interface StoredResponse {
	/** A large output is not read; its size is known. */
	found: JobRecord;
	shown: Shown;
	/** Bytes and members of the request. */
	body: readonly Uint8Array[];
	members: Members<(typeof REPEATED)[number] | "input">;
}

interface Name {
	endpoint: string;
	id: string;
}

/** Throws 404 for a job that is unknown, expired, or no background response. The call holds what was read. */
export async function storedResponse(
	d: Pick<Kernel, "store" | "now" | "calendar">,
	call: Call,
	name: Name,
): Promise<StoredResponse> {
	const { jobs } = d.store;
	let found = await jobs.record({ ...name, now: d.now(), large: "size" });
	if (found?.job.operation !== "openai" || found.job.erased) throw notFound(responseId(name.id));
	const { inputBytes = 0, outputBytes } = found;
	if (inputBytes > 0) {
		await hold(call, inputBytes + (outputBytes ?? 0));
		const input = (await jobs.record({ ...name, now: d.now() }))?.input;
		if (input === undefined) throw notFound(responseId(name.id));
		found = { ...found, input };
	}
	const { input } = found;
	const blocks = input === undefined ? [] : blocksOf(input);
	const outer = await inSlices(membersOf(blocks, [MARK, "openai_input"] as const));
	const { [MARK]: mark, openai_input: request } = outer ?? {};
	if (!mark || !request) throw notFound(responseId(name.id));
	const { store, stream } = JSON.parse(partOf(blocks, mark)) as Pick<Shown, "store" | "stream">;
	const body = cut(blocks, request.start, request.end);
	const members = (await inSlices(membersOf(body, [...REPEATED, "input"] as const))) ?? {};
	if (inputBytes > 0) holdNow(call, inputBytes);
	return { found, shown: shownOf(d, name.id, { store, stream, repeated: repeatedIn(body, members) }), body, members };
}

/** Whether it was created with `stream`. False also if its input is large and was not read. */
export function isStreamed({ input }: Pick<JobRecord, "input">): boolean {
	if (input === undefined) return false;
	const blocks = blocksOf(input);
	const mark = atOnce(membersOf(blocks, [MARK] as const))?.[MARK];
	return mark !== undefined && (JSON.parse(partOf(blocks, mark)) as Shown).stream;
}

/** `response`: its id. */
export function notFound(response: string): ApiError {
	return new ApiError(ERRORS.response_not_found, { response: response.slice(0, 80) });
}
