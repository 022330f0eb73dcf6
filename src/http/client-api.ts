/** `/v2/{endpoint}/...`: what clients call (spec 4). Handlers read, make one engine call, and answer. */
import { badRequest } from "../core/errors.ts";
import type { Operation } from "../core/job.ts";
import { SUBMISSION_JSON, readSubmission } from "../core/submission.ts";
import { jobView, statusView } from "../core/view.ts";
import type { Submitted } from "../engine/submit.ts";
import { notAnObject, readJson } from "./body.ts";
import type { Call } from "./call.ts";
import { json } from "./reply.ts";
import { SYNC_WAIT_MS, waitMs } from "./wait-param.ts";

/** POST /run: queued and on disk, `{id, status}` (spec 4). */
export async function run(call: Call): Promise<void> {
  const submitted = await readSubmitted(call, "run");
  await call.engine.submit(submitted);
  json(call.res, statusView(submitted.id, "IN_QUEUE"));
}

/** POST /runsync: the job when it has ended, or as it stands after `?wait=` (D8). */
export async function runsync(call: Call): Promise<void> {
  const ms = waitMs(call, SYNC_WAIT_MS);
  const submitted = await readSubmitted(call, "runsync");
  const result = await call.engine.submitAndWait(submitted, { ms, caller: call.caller });
  json(call.res, jobView(result, call.engine.now()));
}

/** GET or POST /status/{job}. */
export async function status(call: Call): Promise<void> {
  const result = await call.engine.status({ endpoint: call.params.endpoint, id: call.params.job });
  json(call.res, jobView(result, call.engine.now()));
}

/** GET or POST /status-sync/{job}: `/status`, held until the end or `?wait=` (D8). */
export async function statusSync(call: Call): Promise<void> {
  const { endpoint, job } = call.params;
  const result = await call.engine.statusSync({ endpoint, id: job, ms: waitMs(call, SYNC_WAIT_MS), caller: call.caller });
  json(call.res, jobView(result, call.engine.now()));
}

/** POST /cancel/{job}: `{id, status}` at once (D10). */
export async function cancel(call: Call): Promise<void> {
  const { endpoint, job } = call.params;
  const state = await call.engine.cancel({ endpoint, id: job });
  json(call.res, statusView(job, state));
}

/** GET /health (spec 2.6, D13). */
export async function health(call: Call): Promise<void> {
  const { jobs, workers } = await call.engine.health(call.params.endpoint);
  json(call.res, JSON.stringify({ jobs, workers }));
}

async function readSubmitted(call: Call, operation: Operation): Promise<Submitted> {
  const { scan, text } = await readJson(call, SUBMISSION_JSON);
  if (!scan.ok || scan.kind !== "object") throw notAnObject(call, scan);
  const { input, webhook, policy, s3Config } = scan.members;
  const value = (member: typeof webhook): unknown => (member ? JSON.parse(text(member)!) : undefined);
  const read = readSubmission({ input: input?.kind, webhook: value(webhook), policy: value(policy), s3Config: value(s3Config) });
  if (!read.ok) throw badRequest(read.faults);
  return {
    id: call.engine.newId(operation),
    endpoint: call.engine.registry.get(call.params.endpoint),
    operation,
    wish: read.wish,
    input: text(input)!,
    s3Config: read.wish.s3Config ? text(s3Config) : undefined,
  };
}
