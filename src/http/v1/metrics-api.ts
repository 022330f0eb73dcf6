/** `/v1/endpoints/{endpoint}/metrics`: endpoint history (D39, D40). */
import { DEFAULT_STEPS, FROM, STEP, TO } from "../../api/metrics.ts";
import type { ENDPOINT_DEMAND, ENDPOINT_METRICS } from "../../api/metrics.ts";
import type { AnswerOf } from "../../api/route.ts";
import { badQuery } from "../../core/errors.ts";
import { HOUR_MS, METRICS_KEPT_MS, MINUTE_MS } from "../../core/metrics/metric-buckets.ts";
import type { Call } from "../call.ts";
import { valueOf } from "../params.ts";
import { isoJobTime } from "./format.ts";

/** GET .../metrics: one value per step, null if unknown; only retained steps. */
export async function metrics(call: Call): Promise<AnswerOf<typeof ENDPOINT_METRICS>> {
	const { calendar } = call.engine;
	const jobTime = (wall: number | undefined) =>
		wall === undefined ? undefined : calendar.jobTime(wall);
	const now = call.engine.now();
	const [given, to = now] = [jobTime(valueOf(call, FROM)), jobTime(valueOf(call, TO))];
	const step =
		valueOf(call, STEP) ??
		((given ?? now) < now - METRICS_KEPT_MS[MINUTE_MS] ? HOUR_MS : MINUTE_MS);
	const from = given ?? to - DEFAULT_STEPS * step;
	if (from >= to) throw badQuery("from", String(from), "before `to`, which is now if absent");
	const found = await call.engine.metrics.history({
		endpoint: call.params.endpoint,
		step,
		from,
		to,
	});
	return { step: found.step, from: isoJobTime(call.engine, found.from), series: found.series };
}

/** GET .../demand: for those who start workers themselves. */
export async function demand(call: Call): Promise<AnswerOf<typeof ENDPOINT_DEMAND>> {
	return await call.engine.metrics.demand(call.params.endpoint);
}
