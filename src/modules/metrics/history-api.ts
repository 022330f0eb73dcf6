/** History and totals of endpoints (D39, D40). */
import {
	type ALL_METRICS,
	DEFAULT_STEPS,
	type ENDPOINT_METRICS,
	type EndpointTotals,
	FROM,
	STEP,
	TO,
} from "./routes.ts";
import type { AnswerOf } from "../../kernel/api/definition/route.ts";
import { badQuery } from "../../kernel/core/errors.ts";
import { HOUR_MS, METRICS_KEPT_MS, MINUTE_MS, type StepMs } from "../../kernel/core/metrics/metric-buckets.ts";
import { percentilesOf } from "../../kernel/core/metrics/series.ts";
import type { EpochMs } from "../../kernel/lib/time.ts";
import { may } from "../../kernel/engine/access/keys.ts";
import { principalOf } from "../../kernel/http/gates/auth.ts";
import { type Call, valueOf } from "../../kernel/http/exchange/call.ts";
import { isoJobTime } from "../../kernel/http/exchange/format.ts";

/** One value per retained step, null if unknown. */
export async function history(call: Call<"endpoint">): Promise<AnswerOf<typeof ENDPOINT_METRICS>> {
	const { endpoint } = call.params;
	const { step, from, series } = await call.engine.metrics.history.series({
		endpoint,
		...rangeOf(call),
	});
	return { step, from: isoJobTime(call.engine, from), series };
}

/** One endpoint after the other, which lets other calls run. */
export async function totals(call: Call): Promise<AnswerOf<typeof ALL_METRICS>> {
	const { engine } = call;
	const range = rangeOf(call);
	const endpoints: EndpointTotals[] = [];
	for (const { endpoint } of [...engine.endpoints.all()]) {
		if (!may(principalOf(call), "read", endpoint.id)) continue;
		const sum = await engine.metrics.history.total({ endpoint: endpoint.id, ...range });
		const seconds = sum.execution.sum / 1000;
		endpoints.push({
			id: endpoint.id,
			...sum.counts,
			delayMs: percentilesOf(sum.delay),
			executionMs: percentilesOf(sum.execution),
			executionSeconds: Math.round(seconds),
			gpuSeconds: Math.round(seconds * endpoint.gpusPerWorker),
		});
	}
	return { step: range.step, from: isoJobTime(engine, range.from), endpoints };
}

function rangeOf(call: Call): { step: StepMs; from: EpochMs; to: EpochMs } {
	const { calendar } = call.engine;
	const jobTime = (wall: number | undefined) => (wall === undefined ? undefined : calendar.jobTime(wall));
	const now = call.engine.now();
	const [given, to = now] = [jobTime(valueOf(call, FROM)), jobTime(valueOf(call, TO))];
	const step = valueOf(call, STEP) ?? ((given ?? now) < now - METRICS_KEPT_MS[MINUTE_MS] ? HOUR_MS : MINUTE_MS);
	const from = given ?? to - DEFAULT_STEPS * step;
	if (from >= to) throw badQuery("from", String(from), "before `to`, which is now if absent");
	return { step, from, to };
}
