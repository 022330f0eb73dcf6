/** `/v2/{endpoint}/...` (spec 4). */
import {
	type CANCEL,
	type GET_HEALTH,
	type PURGE_QUEUE,
	type RETRY,
	STATUS_FILTER,
	SYNC_WAIT,
	TTL,
} from "../../api/jobs.ts";
import { CURSOR, LIMIT } from "../../api/definition/params.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import { jobView, statusView } from "../../core/jobs/job-view.ts";
import { permit, principalOf } from "../gates/auth.ts";
import { type Call, isHead, query, valueOf } from "../exchange/call.ts";
import { admitOutput, answer, answerJob } from "../exchange/answer.ts";
import { json } from "../exchange/reply.ts";
import { readSubmitted } from "./submission-body.ts";

/** Answers once the job is durable (spec 4). */
export async function run(call: Call<"endpoint">): Promise<void> {
	const id = await call.engine.jobs.submit(await readSubmitted(call, "run"));
	json(call.res, statusView(id, "IN_QUEUE"));
}

/** The job at its end, or as it is after `?wait=` (D8). */
export async function runsync(call: Call<"endpoint">): Promise<void> {
	const ms = valueOf(call, SYNC_WAIT);
	const submitted = await readSubmitted(call, "runsync");
	const { caller } = call;
	answerJob(call, await call.engine.jobs.submitAndWait(submitted, { ms, caller, output: admitOutput(call) }));
}

/** `?ttl=` shortens the retention and needs `write` (D9, D30). */
export async function status(call: Call<"endpoint" | "job">): Promise<void> {
	const q = { endpoint: call.params.endpoint, id: call.params.job, output: admitOutput(call) };
	const retainMs = shortens(call) ? valueOf(call, TTL) : undefined;
	if (retainMs !== undefined) permit(principalOf(call), "write");
	const { jobs } = call.engine;
	answerJob(call, await (retainMs === undefined ? jobs.status(q) : jobs.retain({ ...q, retainMs })));
}

export function shortens(call: Call): boolean {
	return call.queryText !== "" && !isHead(call) && query(call).has(TTL.name);
}

/** Held until the end or `?wait=` (D8). */
export async function statusSync(call: Call<"endpoint" | "job">): Promise<void> {
	if (isHead(call)) return await status(call);
	const { endpoint, job } = call.params;
	const ms = valueOf(call, SYNC_WAIT);
	const { caller } = call;
	answerJob(call, await call.engine.jobs.statusSync({ endpoint, id: job, ms, caller, output: admitOutput(call) }));
}

/** Returns at once (D10). */
export async function cancel(call: Call<"endpoint" | "job">): Promise<AnswerOf<typeof CANCEL>> {
	const { endpoint, job } = call.params;
	return { id: job, status: await call.engine.jobs.cancel({ endpoint, id: job }) };
}

/** Puts the job at the end of the queue (spec 3, D37). */
export async function retry(call: Call<"endpoint" | "job">): Promise<AnswerOf<typeof RETRY>> {
	const { endpoint, job } = call.params;
	await call.engine.jobs.retry({ endpoint, id: job });
	return { id: job, status: "IN_QUEUE" };
}

/** (spec 2.8, D11) */
export async function purge(call: Call<"endpoint">): Promise<AnswerOf<typeof PURGE_QUEUE>> {
	return { removed: await call.engine.jobs.purge(call.params.endpoint), status: "completed" };
}

/** Newest first, without output (D12). */
export async function requests(call: Call<"endpoint">): Promise<void> {
	const state = valueOf(call, STATUS_FILTER);
	const { jobs, next } = await call.engine.jobs.list({
		endpoint: call.params.endpoint,
		filter: state === undefined ? {} : { states: [state] },
		erased: false,
		cursor: valueOf(call, CURSOR),
		limit: valueOf(call, LIMIT),
	});
	const now = call.engine.now();
	const views = jobs.map((each) => jobView(each, now));
	await answer(call, `{"requests":[${views.join(",")}],"next":${JSON.stringify(next ?? null)}}`);
}

/** (spec 2.6, D13) */
export async function health(call: Call<"endpoint">): Promise<AnswerOf<typeof GET_HEALTH>> {
	const { jobs, workers } = await call.engine.metrics.health(call.params.endpoint);
	return { jobs, workers };
}
