/** Metrics: endpoint history, live feed, Prometheus (D39, D40). */
import {
	COUNTERS,
	GAUGES,
	HOUR_MS,
	MINUTE_MS,
	OUTCOMES,
	type StepMs,
	STEPS,
} from "../../kernel/core/metrics/metric-buckets.ts";
import { record } from "../../kernel/lib/record.ts";
import { HEALTH_STATES } from "../../kernel/core/workers/endpoint-health.ts";
import { JOB_COUNTS, WORKER_COUNTS } from "../../kernel/api/jobs.ts";
import { ENDPOINT_FILTER, moment, type Param, whole } from "../../kernel/api/definition/params.ts";
import { route } from "../../kernel/api/definition/route.ts";
import { WORKER_REASON } from "../../kernel/api/workers.ts";
import {
	COUNT,
	FLAG,
	list,
	MOMENT,
	object,
	type Static,
	TEXT,
	TOTAL_PERCENTILES,
} from "../../kernel/api/definition/schema.ts";

const NAMES = [...COUNTERS, ...GAUGES] as const;

function each<const Name extends string, V>(names: readonly Name[], value: V): Record<Name, V> {
	return record(names, () => value);
}

const SERIES = list({ type: ["integer", "null"] });
export type Series = Static<typeof SERIES>;

const PERCENTILES = object(each(["p50", "p95", "p99"], SERIES));

export const METRICS = object(
	{
		step: { enum: STEPS, "x-unit": "ms" },
		from: { ...MOMENT, description: "Beginning of the first step." },
		series: object({ ...each(NAMES, SERIES), delayMs: PERCENTILES, executionMs: PERCENTILES }),
	},
	{
		description:
			"Counts of what happened in each step; for queued, running and workers the maximum. delayMs: " +
			"waits of jobs that were started; executionMs: runs whose end the worker reported; both " +
			"within 5 %.",
	},
);
export type Metrics = Static<typeof METRICS>;

const OVERVIEW = object({
	id: TEXT,
	name: TEXT,
	paused: FLAG,
	health: object({
		state: {
			enum: HEALTH_STATES,
			description:
				"crashing: its workers crash; no_workers: jobs wait and no worker is attached or allowed; " +
				"hindered: workers are missing for another reason.",
		},
		"reason?": WORKER_REASON,
	}),
	queue: JOB_COUNTS,
	workers: WORKER_COUNTS,
	perMinute: {
		type: "object",
		properties: each([...OUTCOMES, "submitted", "retried"], COUNT),
		description: "Events of the last 60 s.",
	},
	spark: { ...list(COUNT), description: "Jobs ended in each of the last 30 minutes." },
});
export type Overview = Static<typeof OVERVIEW>;

export const DEFAULT_STEPS = 60;

export const FROM = moment("from", `Beginning; ${DEFAULT_STEPS} steps before the end if absent.`);
export const TO = moment("to", "End; now if absent.");
export const STEP: Param<StepMs> = {
	name: "step",
	description:
		"Length of the steps, ms: minutes are kept for a day, hours for 30 days. Without it, minutes " +
		"if they are still kept for that time, else hours.",
	bound: `${MINUTE_MS} (a minute) or ${HOUR_MS} (an hour)`,
	schema: { type: "integer", enum: STEPS },
	read: (value) => STEPS.find((step) => String(step) === value),
};

export const ENDPOINT_METRICS = route("endpointMetrics", "GET /v1/endpoints/:endpoint/metrics", "read", {
	summary: "History of the endpoint: jobs, waits, runs and workers.",
	answer: {
		description: "One value per step, from the first on; null where nothing is known.",
		schema: METRICS,
	},
	query: [FROM, TO, STEP],
});

const ENDPOINT_TOTALS = object({
	id: TEXT,
	...each(COUNTERS, COUNT),
	delayMs: TOTAL_PERCENTILES,
	executionMs: TOTAL_PERCENTILES,
	executionSeconds: { ...COUNT, description: "Sum of the runs whose end a worker reported." },
	gpuSeconds: { ...COUNT, description: "The same, for each GPU of a worker." },
});

export const TOTALS = object(
	{
		step: { enum: STEPS, "x-unit": "ms" },
		from: { ...MOMENT, description: "Beginning of the first step." },
		endpoints: list(ENDPOINT_TOTALS),
	},
	{ description: "What happened at each endpoint that the key may read; percentiles within 5 %." },
);
export type Totals = Static<typeof TOTALS>;
export type EndpointTotals = Static<typeof ENDPOINT_TOTALS>;

export const ALL_METRICS = route("allMetrics", "GET /v1/metrics", "read", {
	summary: "Totals of all endpoints over a time: jobs by outcome, waits, runs, GPU time.",
	answer: {
		description: "One entry for each endpoint.",
		schema: TOTALS,
	},
	query: [FROM, TO, STEP],
});

export const DEMAND = object({
	wanted: {
		...COUNT,
		description:
			"Workers that the endpoint should have, from workersMin to workersMax: one for scalerValue jobs " +
			"with REQUEST_COUNT, else for each waiting or running job.",
	},
	waiting: { ...COUNT, description: "Waiting jobs without those of low priority; 0 if paused." },
	running: COUNT,
	oldestWaitSeconds: { ...COUNT, description: "Wait of the oldest one; 0 without any." },
});

const ENDPOINT_DEMAND = route("endpointDemand", "GET /v1/endpoints/:endpoint/demand", "read", {
	summary: "How many workers the endpoint wants, for autoscalers outside of Sluice such as KEDA.",
	answer: {
		description: "The demand. While the store is unavailable the answer is 503, never 0.",
		schema: DEMAND,
	},
});

export const INTERVAL = whole("interval", {
	minimum: 1,
	maximum: 60,
	default: 2,
	description: "Minimum seconds between two events.",
});

const FEED = route("feed", "GET /v1/feed", "read", {
	summary: "All endpoints that the key may read, now and after each change.",
	answer: {
		description: "Has no end.",
		events:
			"overview with {at, endpoints}: id, name, paused, queue and workers as in /health, " +
			"perMinute (jobs ended in the last 60 s by outcome) and spark (jobs ended in each of the " +
			"last 30 minutes); a comment after 15 s without a change",
	},
	errors: ["endpoint_not_found", "not_ready"],
	query: [ENDPOINT_FILTER, INTERVAL],
});

export const EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export const PROMETHEUS = route("metrics", "GET /metrics", "read", {
	summary: "Jobs, workers, store and process for Prometheus.",
	answer: {
		description:
			"Families of samples in the text format of Prometheus. Jobs and workers are those of all " +
			"servers; counters are of the server that answers, since its start.",
		media: EXPOSITION_TYPE,
	},
});

export const METRICS_ROUTES = [ENDPOINT_METRICS, ALL_METRICS, ENDPOINT_DEMAND, FEED, PROMETHEUS] as const;
