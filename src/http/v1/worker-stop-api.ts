/** `/v1/endpoints/{endpoint}/workers/{worker}/stop`: an operator ends a launched worker (D28). */
import { ApiError } from "../../core/errors.ts";
import type { Call } from "../call.ts";
import { json } from "../reply.ts";
import { readNothing } from "./body.ts";
import { answeredElsewhere } from "./other-servers.ts";

/**
 * POST .../stop: it gets no more jobs, and is ended once it holds none; `{}` at once. A worker of
 * another server is ended there. Throws `worker_gone` and `worker_not_launched`.
 */
export async function stop(call: Call): Promise<void> {
	await readNothing(call);
	const { endpoint, worker } = call.params;
	if (await call.engine.workers.stop({ endpoint, id: worker })) return json(call.res, "{}");
	if (!(await answeredElsewhere(call))) throw new ApiError("worker_gone", { endpoint, worker });
}
