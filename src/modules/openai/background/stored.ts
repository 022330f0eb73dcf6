/** Finds a background response: a job whose input says that it is one (D58). */
import { ApiError } from "../../../kernel/core/errors.ts";
import type { Call } from "../../../kernel/http/exchange/call.ts";
import { inSlices } from "../../../kernel/http/exchange/reply.ts";
import { holdNow } from "../../../kernel/http/memory/call-memory.ts";
import type { Kernel } from "../../../kernel/module.ts";
import type { JobRecord } from "../../../kernel/store/contract/jobs.ts";
import { ERRORS } from "../errors.ts";
import { markedJob } from "../marked-job.ts";
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
	const marked = await markedJob(d, call, name, MARK);
	if (!marked) throw notFound(responseId(name.id));
	const { found, mark, body, inputBytes } = marked;
	const { store, stream } = JSON.parse(mark) as Pick<Shown, "store" | "stream">;
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
