/**
 * `/v2/{endpoint}/...`: what clients call (spec 4). Handlers read, make one engine call, and
 * answer.
 */
import { JOB_STATES } from "../../core/job-states.ts";
import { jobView, statusView } from "../../core/job-view.ts";
import { query } from "../call.ts";
import type { Call } from "../call.ts";
import { text, valueOf, whole, word } from "../params.ts";
import { json } from "../reply.ts";
import { readSubmitted } from "./submission-body.ts";
import { SYNC_WAIT, waitMs } from "./wait-param.ts";

/** `/status?ttl=` (D9). */
export const TTL = whole("ttl", {
	low: 0,
	high: Number.MAX_SAFE_INTEGER,
	description:
		"Keep the result for at most this long after the end of the job, ms. Only shortens; when that time has passed already, this answer is the last.",
});

/** Parameters of lists (D12). */
export const CURSOR = text("cursor", 200, "`next` of the page before.");
export const PAGE = whole("limit", {
	low: 1,
	high: 100,
	otherwise: 20,
	description: "Most items of this page.",
});
export const STATUS = word("status", JOB_STATES, "Only jobs in this state.");

/** POST /run: queued and on disk, `{id, status}` (spec 4). */
export async function run(call: Call): Promise<void> {
	const id = await call.engine.jobs.submit(await readSubmitted(call, "run"));
	json(call.res, statusView(id, "IN_QUEUE"));
}

/** POST /runsync: the job when it has ended, or as it stands after `?wait=` (D8). */
export async function runsync(call: Call): Promise<void> {
	const ms = waitMs(call, SYNC_WAIT);
	const submitted = await readSubmitted(call, "runsync");
	const result = await call.engine.jobs.submitAndWait(submitted, { ms, caller: call.caller });
	json(call.res, jobView(result, call.engine.now()));
}

/** GET or POST /status/{job}; `?ttl=` shortens its retention (D9). */
export async function status(call: Call): Promise<void> {
	const q = { endpoint: call.params.endpoint, id: call.params.job };
	const retainMs = valueOf(call, TTL);
	const result =
		retainMs === undefined
			? await call.engine.jobs.status(q)
			: await call.engine.jobs.retain({ ...q, retainMs });
	json(call.res, jobView(result, call.engine.now()));
}

/** Whether a /status shortens the retention of its job. */
export function shortens(call: Call): boolean {
	return query(call).has(TTL.name);
}

/** GET or POST /status-sync/{job}: `/status`, held until the end or `?wait=` (D8). */
export async function statusSync(call: Call): Promise<void> {
	const { endpoint, job } = call.params;
	const result = await call.engine.jobs.statusSync({
		endpoint,
		id: job,
		ms: waitMs(call, SYNC_WAIT),
		caller: call.caller,
	});
	json(call.res, jobView(result, call.engine.now()));
}

/** POST /cancel/{job}: `{id, status}` at once (D10). */
export async function cancel(call: Call): Promise<void> {
	const { endpoint, job } = call.params;
	const state = await call.engine.jobs.cancel({ endpoint, id: job });
	json(call.res, statusView(job, state));
}

/** POST /retry/{job}: `{id, status}`, at the end of the queue again (spec 3, D37). */
export async function retry(call: Call): Promise<void> {
	const { endpoint, job } = call.params;
	await call.engine.jobs.retry({ endpoint, id: job });
	json(call.res, statusView(job, "IN_QUEUE"));
}

/** POST /purge-queue: `{removed, status}` (spec 2.8, D11). */
export async function purge(call: Call): Promise<void> {
	const removed = await call.engine.jobs.purge(call.params.endpoint);
	json(call.res, `{"removed":${removed},"status":"completed"}`);
}

/** GET /requests: job objects without output, the newest first (D12). */
export async function requests(call: Call): Promise<void> {
	const state = valueOf(call, STATUS);
	const { jobs, next } = await call.engine.jobs.list({
		endpoint: call.params.endpoint,
		filter: state === undefined ? {} : { states: [state] },
		erased: false,
		cursor: valueOf(call, CURSOR),
		limit: valueOf(call, PAGE) ?? 20,
	});
	const now = call.engine.now();
	json(
		call.res,
		`{"requests":[${jobs.map((each) => jobView(each, now)).join(",")}],"next":${JSON.stringify(next ?? null)}}`,
	);
}

/** GET /health (spec 2.6, D13). */
export async function health(call: Call): Promise<void> {
	const { jobs, workers } = await call.engine.metrics.health(call.params.endpoint);
	json(call.res, JSON.stringify({ jobs, workers }));
}
