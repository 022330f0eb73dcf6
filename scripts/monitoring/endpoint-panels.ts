/** Panels about endpoints: jobs, versions, workers, GPUs, webhooks. */
import { EP, lines, quantile, rate, type Panel } from "./panel.ts";

export const ENDPOINT: readonly Panel[] = [
	lines({
		title: "Jobs",
		description: "Waiting and running jobs.",
		unit: "short",
		query: `max by (endpoint, state) (sluice_jobs{${EP}})`,
	}),
	lines({
		title: "Workers",
		description: "Workers by what they do.",
		unit: "short",
		query: `max by (endpoint, state) (sluice_workers{${EP}})`,
	}),
	lines({
		title: "Wait in the queue",
		description: "Half of the jobs waited for less.",
		unit: "s",
		query: quantile(0.5, "endpoint", `sluice_job_delay_seconds_bucket{${EP}}`),
	}),
	lines({
		title: "Longest waits in the queue",
		description: "99 of 100 jobs waited for less.",
		unit: "s",
		query: quantile(0.99, "endpoint", `sluice_job_delay_seconds_bucket{${EP}}`),
	}),
	lines({
		title: "Run time",
		description: "Half of the jobs ran for less.",
		unit: "s",
		query: quantile(0.5, "endpoint", `sluice_job_execution_seconds_bucket{${EP}}`),
	}),
	lines({
		title: "Longest run times",
		description: "99 of 100 jobs ran for less.",
		unit: "s",
		query: quantile(0.99, "endpoint", `sluice_job_execution_seconds_bucket{${EP}}`),
	}),
	lines({
		title: "Ended jobs",
		description: "Ended jobs a second by outcome.",
		unit: "ops",
		query: `sum by (endpoint, outcome) (${rate(`sluice_jobs_ended_total{${EP}}`)})`,
	}),
	lines({
		title: "Returns to the queue",
		description: "Jobs that a worker lost or gave back, or that were retried, a second.",
		unit: "ops",
		query: `sum by (endpoint, cause) (${rate(`sluice_jobs_requeued_total{${EP}}`)})`,
	}),
	lines({
		title: "Ended jobs by version",
		description: "Ended jobs a second of the two newest versions, by outcome: compare a release with the one before.",
		unit: "ops",
		query: `sum by (endpoint, release, outcome) (${rate(`sluice_release_jobs_ended_total{${EP}}`)})`,
	}),
	lines({
		title: "Run time by version",
		description: "Half of the jobs of a version ran for less.",
		unit: "s",
		query: quantile(0.5, "endpoint, release", `sluice_release_execution_seconds_bucket{${EP}}`),
	}),
	lines({
		title: "Cold start",
		description: "Half of the workers were ready after less time.",
		unit: "s",
		query: quantile(0.5, "endpoint", `sluice_worker_start_seconds_bucket{${EP}}`),
	}),
	lines({
		title: "Parts of a cold start",
		description: "Mean time of each phase: wait for the platform, pull of the image, load, warm-up.",
		unit: "s",
		query:
			`sum by (endpoint, phase) (${rate(`sluice_worker_start_phase_seconds_sum{${EP}}`)}) / ` +
			`sum by (endpoint, phase) (${rate(`sluice_worker_start_phase_seconds_count{${EP}}`)})`,
	}),
	lines({
		title: "Starts of workers",
		description: "Starts a second by how they ended.",
		unit: "ops",
		query: `sum by (endpoint, outcome) (${rate(`sluice_worker_starts_total{${EP}}`)})`,
	}),
	lines({
		title: "Ends of workers",
		description: "Ends of launched workers a second by reason.",
		unit: "ops",
		query: `sum by (endpoint, reason) (${rate(`sluice_worker_exits_total{${EP}}`)})`,
	}),
	lines({
		title: "Missing workers",
		description: "1 while the endpoint lacks workers for this reason.",
		unit: "short",
		query: `max by (endpoint, reason) (sluice_endpoint_workers_missing{${EP}})`,
	}),
	lines({
		title: "GPU use",
		description: "GPUs of the workers by what they do; starting includes the load of a model.",
		unit: "short",
		query: `sum by (endpoint, state) (${rate(`sluice_gpu_seconds_total{${EP}}`)})`,
	}),
	lines({
		title: "Workers that made room",
		description: "Workers a second that were stopped for one of another endpoint.",
		unit: "ops",
		query: `sum by (endpoint, state) (${rate(`sluice_workers_made_room_total{${EP}}`)})`,
	}),
	lines({
		title: "Swap of a GPU",
		description:
			"Half of the swaps took less time, from the decision to make room to the first call of the new worker.",
		unit: "s",
		query: quantile(0.5, "endpoint", `sluice_swap_seconds_bucket{${EP}}`),
	}),
	lines({
		title: "Webhooks",
		description: "Deliveries that ended, a second: failed ones were given up.",
		unit: "ops",
		query: `sum by (endpoint, state) (${rate(`sluice_webhooks_total{${EP}}`)})`,
	}),
	lines({
		title: "Stored",
		description: "Inputs, results and chunks in the store.",
		unit: "bytes",
		query: `max by (endpoint) (sluice_stored_bytes{${EP}})`,
	}),
];
