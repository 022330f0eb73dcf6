/** `/v1/endpoints/{endpoint}/metrics`: what was counted of an endpoint over time (D39, D40). */
import { badQuery } from "../../core/errors.ts";
import { HOUR_MS, MINUTE_MS, STEPS, METRICS_KEPT_MS } from "../../core/metrics/metric-buckets.ts";
import type { StepMs } from "../../core/metrics/metric-buckets.ts";
import type { Call } from "../call.ts";
import { moment as momentParam, valueOf } from "../params.ts";
import type { Param } from "../params.ts";
import { json } from "../reply.ts";
import { moment } from "./time.ts";

/** Steps that are told without `from`. */
const USUAL_STEPS = 60;

export const FROM = momentParam("from", "Beginning; 60 steps before the end if absent.");
export const TO = momentParam("to", "End; now if absent.");
export const STEP: Param<StepMs> = {
	name: "step",
	description:
		"Length of the steps, ms: minutes are kept for a day, hours for 30 days. Without it minutes where they reach back far enough, else hours.",
	bound: `${MINUTE_MS} (a minute) or ${HOUR_MS} (an hour)`,
	schema: { type: "integer", enum: STEPS },
	read: (text) => STEPS.find((step) => String(step) === text),
};

/**
 * GET .../metrics: `{step, from, series}`, a value for each step and null where nothing is known;
 * only what is kept.
 */
export async function metrics(call: Call): Promise<void> {
	const now = call.engine.now();
	const [given, to = now] = [valueOf(call, FROM), valueOf(call, TO)];
	const step =
		valueOf(call, STEP) ??
		((given ?? now) < now - METRICS_KEPT_MS[MINUTE_MS] ? HOUR_MS : MINUTE_MS);
	const from = given ?? to - USUAL_STEPS * step;
	if (from >= to) throw badQuery("from", String(from), "before `to`, which is now if absent");
	const found = await call.engine.metrics.history({
		endpoint: call.params.endpoint,
		step,
		from,
		to,
	});
	json(
		call.res,
		JSON.stringify({ step: found.step, from: moment(found.from), series: found.series }),
	);
}
