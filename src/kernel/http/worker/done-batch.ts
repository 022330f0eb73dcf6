/** Results of several jobs in one post. */
import type { AnswerOf } from "../../api/definition/route.ts";
import type { JOB_DONE_BATCH } from "../../api/worker-protocol.ts";
import { type Report, REPORT_MEMBERS } from "../../core/jobs/report.ts";
import { ApiError } from "../../core/errors.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import { readBytes, scanBytes } from "../exchange/body.ts";
import type { Call } from "../exchange/call.ts";
import { refusalOf } from "../exchange/reply.ts";
import { linesOf } from "./lines.ts";
import { reportOf } from "./worker-api.ts";

const LINE_JSON = { members: [...REPORT_MEMBERS, "id"] };

interface LineReport {
	id: string;
	report: Report;
}

/** Returns per line the status that a single post would get. Throws 400 for too many lines. */
export async function doneBatch(call: Call): Promise<AnswerOf<typeof JOB_DONE_BATCH>> {
	const lines = await readLines(call);
	const answers: Promise<number>[] = [];
	// Each returned job goes to the front of the queue: from the last to the first they keep their order (D54).
	for (const [at, line] of [...lines.entries()].toReversed())
		if (line?.report.kind === "return") answers[at] = accept(call, line);
	for (const [at, line] of lines.entries()) answers[at] ??= accept(call, line);
	return await Promise.all(answers);
}

/**
 * Undefined for a line without a job, or with an invalid `return` (D54). A separate function frees the body while the
 * store is unavailable.
 */
async function readLines(call: Call): Promise<(LineReport | undefined)[]> {
	return linesOf(await readBytes(call)).map(readLine);
}

function readLine(line: Buffer): LineReport | undefined {
	const body = scanBytes(line, LINE_JSON);
	const id = body.scan.ok ? body.scan.members["id"] : undefined;
	if (id?.kind !== "string") return undefined;
	try {
		return { id: JSON.parse(body.text(id)) as string, report: reportOf(body) };
	} catch (error) {
		if (error instanceof ApiError) return undefined;
		throw error;
	}
}

/** An internal error fails the whole post, which may be repeated. */
async function accept(call: Call, line: LineReport | undefined): Promise<number> {
	if (!line) return 400;
	try {
		await call.engine.jobs.report({ worker: call.identity.worker!, ...line });
		return 200;
	} catch (error) {
		if (error instanceof ApiError || error instanceof StoreUnavailable)
			return refusalOf(error, call.res.requestId).status;
		throw error;
	}
}
