/** `/v1/gpus`. */
import type { GpuUse } from "./gpu-use.ts";
import { HISTORY, type LIST_GPUS } from "./routes.ts";
import type { AnswerOf } from "../../kernel/api/definition/route.ts";
import { type Call, valueOf } from "../../kernel/http/exchange/call.ts";
import { isoJobTime } from "../../kernel/http/exchange/format.ts";

export async function listGpus(call: Call, spansOf: GpuUse["history"]): Promise<AnswerOf<typeof LIST_GPUS>> {
	const { engine } = call;
	const withHistory = valueOf(call, HISTORY);
	const gpus = await engine.workers.gpus.list();
	return {
		gpus: gpus.map(({ holders, ...gpu }) => ({
			...gpu,
			holders: holders.map(({ since, ...holder }) => ({ ...holder, since: isoJobTime(engine, since) })),
			history: withHistory
				? spansOf(gpu).map(({ from, to, ...span }) => ({
						...span,
						from: isoJobTime(engine, from),
						to: isoJobTime(engine, to),
					}))
				: undefined,
		})),
	};
}
