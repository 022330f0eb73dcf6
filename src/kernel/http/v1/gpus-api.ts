/** `/v1/gpus`. */
import { HISTORY, type LIST_GPUS } from "../../api/gpus.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import type { Call } from "../exchange/call.ts";
import { isoJobTime } from "../exchange/format.ts";
import { valueOf } from "../exchange/params.ts";

export async function list(call: Call): Promise<AnswerOf<typeof LIST_GPUS>> {
	const { engine } = call;
	const withHistory = valueOf(call, HISTORY);
	const gpus = await engine.workers.gpus.list();
	return {
		gpus: gpus.map(({ holders, ...gpu }) => ({
			...gpu,
			holders: holders.map(({ since, ...holder }) => ({ ...holder, since: isoJobTime(engine, since) })),
			history: withHistory
				? engine.metrics.gpuHistory(gpu).map(({ from, to, ...span }) => ({
						...span,
						from: isoJobTime(engine, from),
						to: isoJobTime(engine, to),
					}))
				: undefined,
		})),
	};
}
