/**
 * `/v1/endpoints/{endpoint}/jobs/cancel` and `/retry`: one deed on all jobs of a filter, in
 * portions (D39).
 */
import { readBulkRequest } from "../../core/bulk-request.ts";
import { badRequest } from "../../core/errors.ts";
import type { Call } from "../call.ts";
import { json } from "../reply.ts";
import { readObject } from "./body.ts";

/**
 * POST .../jobs/cancel: `{matched, done, more, next}` of a portion of the jobs that wait or run.
 */
export async function cancel(call: Call): Promise<void> {
	await answer(call, "cancel");
}

/** POST .../jobs/retry: the same for FAILED and TIMED_OUT jobs. */
export async function retry(call: Call): Promise<void> {
	await answer(call, "retry");
}

async function answer(call: Call, on: "cancel" | "retry"): Promise<void> {
	const read = readBulkRequest(await readObject(call));
	if (!read.ok) throw badRequest(read.faults);
	const {
		matched,
		done,
		more,
		next = null,
	} = await call.engine.jobs.bulk({ endpoint: call.params.endpoint, on, ...read.request });
	json(call.res, JSON.stringify({ matched, done, more, next }));
}
