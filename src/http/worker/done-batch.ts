/** Results of several jobs in one post: what a worker that runs many short jobs at once would post one by one. */
import { LARGE_BYTES } from "../../core/json/json-text.ts";
import { REPORT_MEMBERS, RESULTS_TOGETHER } from "../../core/report.ts";
import { ApiError, badRequest } from "../../core/errors.ts";
import { StoreUnavailable } from "../../store/store.ts";
import { readBytes, scanBytes } from "../body.ts";
import type { Call } from "../call.ts";
import { json, refusalOf } from "../reply.ts";
import { reportOf } from "./report-body.ts";

const NEWLINE = 0x0a;

/** POST /job-done-batch/{worker}: a line for each job, answered with the status that each would have got alone. Throws 400 for too many lines. */
export async function doneBatch(call: Call): Promise<void> {
  const lines = linesOf(await readBytes(call));
  if (lines.length > RESULTS_TOGETHER) throw badRequest([{ field: "body", message: `must be at most ${RESULTS_TOGETHER} lines, one for each job; it has ${lines.length}.` }]);
  json(call.res, JSON.stringify(await Promise.all(lines.map((line) => kept(call, line)))));
}

/** Lines that are not empty. Large ones own their memory: a part that travels to the database's thread takes along all that it lies in. */
function linesOf(body: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < body.length; ) {
    const found = body.indexOf(NEWLINE, start);
    const end = found < 0 ? body.length : found;
    const line = body.subarray(start, end);
    if (line.length > 0) lines.push(line.length >= LARGE_BYTES ? Buffer.from(line) : line);
    start = end + 1;
  }
  return lines;
}

/** Keeps one report, and tells its status. What is our own fault fails the whole post, which may be repeated. */
async function kept({ engine, worker }: Call, line: Buffer): Promise<number> {
  const body = scanBytes(line, { members: [...REPORT_MEMBERS, "id"] });
  const id = body.scan.ok && body.scan.members["id"]?.kind === "string" ? (JSON.parse(body.text(body.scan.members["id"])!) as string) : undefined;
  if (id === undefined) return 400;
  try {
    await engine.report({ worker: worker!, id, report: reportOf(body) });
    return 200;
  } catch (error) {
    if (error instanceof ApiError || error instanceof StoreUnavailable) return refusalOf(error, () => "").status;
    throw error;
  }
}
