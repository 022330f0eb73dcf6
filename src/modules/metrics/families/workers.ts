/** Metrics of endpoints' workers and GPUs. */
import { GPU_HOLDER_STATES, GPU_USES } from "../../../kernel/core/workers/gpus.ts";
import { HEALTH_STATES } from "../../../kernel/core/workers/endpoint-health.ts";
import { START_OUTCOMES } from "../../../kernel/engine/metrics/worker-starts.ts";
import type { Sample } from "../../../kernel/core/metrics/family.ts";
import { counter, each, gauge, histogram, type Metric } from "./definition.ts";

const GPU_STATES = [...GPU_HOLDER_STATES, "free"] as const;

export const WORKER_METRICS: readonly Metric[] = [
	gauge("sluice_workers", ["endpoint", "state"], "Workers by what they do, on all servers.", ({ snapshots }) =>
		snapshots.flatMap(({ endpoint: { id }, workers, asleep }) => {
			const { idle, running, initializing, unhealthy } = workers;
			return each({ idle, running, initializing, unhealthy, asleep }, id);
		}),
	),
	gauge("sluice_endpoint_paused", ["endpoint"], "Whether jobs are queued but not sent to workers.", ({ snapshots }) =>
		snapshots.map(({ endpoint: { id }, paused }) => [[id], Number(paused)]),
	),
	gauge(
		"sluice_endpoint_health",
		["endpoint", "state"],
		"1 for the state of the endpoint, 0 for the others; `hindered`: it lacks workers that do not crash.",
		({ snapshots }) =>
			snapshots.flatMap(({ endpoint: { id }, health }) =>
				HEALTH_STATES.map((state): Sample => [[id, state], Number(health.state === state)]),
			),
	),
	gauge(
		"sluice_endpoint_workers_missing",
		["endpoint", "reason"],
		"1 while the endpoint lacks workers, with the most serious reason; no series otherwise.",
		({ snapshots }) =>
			snapshots.flatMap(({ endpoint: { id }, health: { reason } }): Sample[] =>
				reason ? [[[id, reason.code], 1]] : [],
			),
	),
	counter("sluice_workers_launched_total", ["endpoint"], "Workers started by this server.", ({ totals }) =>
		totals.map(([endpoint, { counts }]) => [[endpoint], counts.coldStarts]),
	),
	counter(
		"sluice_worker_starts_total",
		["endpoint", "outcome"],
		"Starts of this server that are over: the worker is `ready`, has `failed` before, or was `stopped` before.",
		({ engine, endpoints }) => engine.metrics.starts.outcomes.samples(endpoints, START_OUTCOMES),
	),
	histogram(
		"sluice_worker_start_seconds",
		["endpoint"],
		"Time from the start of a worker to its first call, with its warm-up: the cold start.",
		({ engine }) => engine.metrics.starts.total.samples(),
	),
	histogram(
		"sluice_worker_start_phase_seconds",
		["endpoint", "phase"],
		"Parts of cold starts: `placement` until the platform runs the worker, without `image_pull` as far as the " +
			"platform reports it; `load` until it calls; `warm_up`.",
		({ engine }) => engine.metrics.starts.phases.samples(),
	),
	histogram("sluice_worker_wake_seconds", ["endpoint"], "Time in which a worker that slept was woken.", ({ engine }) =>
		engine.metrics.starts.wakes.samples(),
	),
	counter(
		"sluice_worker_exits_total",
		["endpoint", "reason"],
		"Ends of launched workers: `stopped`, `exited` with code 0, or the code of the fault.",
		({ engine }) => engine.metrics.starts.exits.samples(),
	),
	counter(
		"sluice_worker_failures_total",
		["endpoint"],
		"Crashes and failed starts after which this server paused the starts of workers.",
		({ counts, endpoints }) => counts.failures.samples(endpoints),
	),
];

export const GPU_METRICS: readonly Metric[] = [
	counter(
		"sluice_workers_made_room_total",
		["endpoint", "state"],
		"Workers of the endpoint that this server stopped to make room for another one, by what they did before.",
		({ gpus }) => gpus.flatMap(([endpoint, { madeRoom }]) => each(madeRoom, endpoint)),
	),
	histogram(
		"sluice_swap_seconds",
		["endpoint"],
		"Time from the decision to make room for a worker of the endpoint to its first call.",
		({ gpus }) => gpus.map(([endpoint, { swaps }]) => [[endpoint], swaps]),
	),
	counter(
		"sluice_gpu_seconds_total",
		["endpoint", "state"],
		"GPUs of workers that this server launched, times seconds, by what the workers did; a part of a GPU counts as one.",
		({ gpus }) =>
			gpus.flatMap(([endpoint, { ms }]) => GPU_USES.map((state): Sample => [[endpoint, state], ms[state] / 1000])),
	),
	gauge(
		"sluice_gpus",
		["host", "model", "state"],
		"GPUs by what the most active of their workers does; `other`: used by another service.",
		({ engine }) => {
			const kinds = Object.values(
				Object.groupBy(engine.workers.gpus.uses(), ({ host, model }) => JSON.stringify([host, model])),
			);
			return kinds.flatMap((gpus = []) =>
				GPU_STATES.map((state): Sample => {
					const [{ host, model = "" } = { host: "" }] = gpus;
					return [[host, model, state], gpus.filter((gpu) => gpu.state === state).length];
				}),
			);
		},
	),
];
