/**
 * Results of several jobs in one post: what a worker that runs many short jobs at once would post
 * one by one.
 */
import type { AnswerOf } from "../../api/route.ts";
import type { JOB_DONE_BATCH } from "../../api/worker-protocol.ts";
import { LARGE_BYTES } from "../../core/json/json-text.ts";
import { REPORT_MEMBERS, RESULTS_TOGETHER } from "../../core/report.ts";
import type { Report } from "../../core/report.ts";
import { ApiError, badRequest } from "../../core/errors.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import { readBytes, scanBytes } from "../body.ts";
import type { Call } from "../call.ts";
import { refusalOf } from "../reply.ts";
import { reportOf } from "./report-body.ts";

const NEWLINE = 0x0a;

/** What is looked for in a line. */
const LINE_JSON = { members: [...REPORT_MEMBERS, "id"] };

/** What a line says of which job. */
interface Told {
	id: string;
	report: Report;
}

/**
 * POST /job-done-batch/{worker}: a line for each job, answered with the status that each would have
 * got alone. Throws 400 for too many lines.
 */
export async function doneBatch(call: Call): Promise<AnswerOf<typeof JOB_DONE_BATCH>> {
	const lines = await readLines(call);
	return await Promise.all(lines.map((told) => kept(call, told)));
}

/**
 * What each line says; undefined for one that names no job. By itself, so that nothing of the body
 * is kept while the store is away.
 */
async function readLines(call: Call): Promise<(Told | undefined)[]> {
	return linesOf(await readBytes(call)).map(readLine);
}

/**
 * Lines that are not empty. Large ones own their memory: a part that travels to the database's
 * thread takes along all that it lies in.
 */
function linesOf(body: Buffer): Buffer[] {
	const lines: Buffer[] = [];
	for (let start = 0; start < body.length; ) {
		if (body[start] === NEWLINE) {
			start += 1;
			continue;
		}
		if (lines.length === RESULTS_TOGETHER)
			throw badRequest([
				{ field: "body", message: `must be at most ${RESULTS_TOGETHER} lines, one for each job.` },
			]);
		const found = body.indexOf(NEWLINE, start);
		const end = found < 0 ? body.length : found;
		const line = body.subarray(start, end);
		lines.push(line.length >= LARGE_BYTES ? Buffer.from(line) : line);
		start = end + 1;
	}
	return lines;
}

function readLine(line: Buffer): Told | undefined {
	const body = scanBytes(line, LINE_JSON);
	const id = body.scan.ok ? body.scan.members["id"] : undefined;
	return id?.kind === "string"
		? { id: JSON.parse(body.text(id)!) as string, report: reportOf(body) }
		: undefined;
}

/**
 * Keeps one report, and tells its status. What is our own fault fails the whole post, which may be
 * repeated.
 */
async function kept({ engine, worker }: Call, told: Told | undefined): Promise<number> {
	if (!told) return 400;
	try {
		await engine.jobs.report({ worker: worker!, ...told });
		return 200;
	} catch (error) {
		if (error instanceof ApiError || error instanceof StoreUnavailable)
			return refusalOf(error, () => "").status;
		throw error;
	}
}
