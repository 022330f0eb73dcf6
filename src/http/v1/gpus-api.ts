/** `/v1/gpus`. */
import type { LIST_GPUS } from "../../api/gpus.ts";
import type { AnswerOf } from "../../api/definition/route.ts";
import type { Call } from "../exchange/call.ts";
import { isoJobTime } from "../exchange/format.ts";

export async function list({ engine }: Call): Promise<AnswerOf<typeof LIST_GPUS>> {
	const gpus = await engine.workers.gpus.list();
	return {
		gpus: gpus.map(({ holders, ...gpu }) => ({
			...gpu,
			holders: holders.map(({ since, ...holder }) => ({ ...holder, since: isoJobTime(engine, since) })),
		})),
	};
}
