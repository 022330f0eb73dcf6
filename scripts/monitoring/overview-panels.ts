/** Panels about all endpoints and servers. */
import { lines, quantile, rate, stat, type Panel } from "./panel.ts";

export const OVERVIEW: readonly Panel[] = [
	stat({
		title: "Servers",
		description: "Servers that answer Prometheus.",
		unit: "short",
		query: "count(sluice_build_info)",
	}),
	stat({
		title: "Stores",
		description: "Servers whose store can be read.",
		unit: "short",
		query: "sum(sluice_store_up)",
	}),
	stat({
		title: "Waiting jobs",
		description: "Jobs that are IN_QUEUE, of all endpoints.",
		unit: "short",
		query: 'sum(max by (endpoint) (sluice_jobs{state="IN_QUEUE"}))',
	}),
	stat({
		title: "Running jobs",
		description: "Jobs that are IN_PROGRESS, of all endpoints.",
		unit: "short",
		query: 'sum(max by (endpoint) (sluice_jobs{state="IN_PROGRESS"}))',
	}),
	stat({
		title: "Oldest wait",
		description: "How long the job waits that has waited longest. Jobs of low priority do not count.",
		unit: "s",
		query: "max(sluice_job_oldest_wait_seconds)",
	}),
	stat({
		title: "Failed jobs in the last hour",
		description: "Jobs that FAILED or TIMED_OUT.",
		unit: "short",
		query: 'sum(increase(sluice_jobs_ended_total{outcome=~"failed|timedOut"}[1h]))',
	}),
	lines({
		title: "Jobs submitted",
		description: "Accepted jobs a second by endpoint.",
		unit: "ops",
		query: `sum by (endpoint) (${rate("sluice_jobs_submitted_total")})`,
	}),
	lines({
		title: "Jobs ended",
		description: "Ended jobs a second by outcome.",
		unit: "ops",
		query: `sum by (outcome) (${rate("sluice_jobs_ended_total")})`,
	}),
	lines({
		title: "Oldest wait by endpoint",
		description: "A line that rises without an end means that no worker takes jobs.",
		unit: "s",
		query: "max by (endpoint) (sluice_job_oldest_wait_seconds)",
	}),
	lines({
		title: "Failure ratio by endpoint",
		description: "Share of ended jobs that FAILED or TIMED_OUT; cancelled jobs do not count.",
		unit: "percentunit",
		query:
			`sum by (endpoint) (${rate('sluice_jobs_ended_total{outcome=~"failed|timedOut"}')}) / ` +
			`sum by (endpoint) (${rate('sluice_jobs_ended_total{outcome!="cancelled"}')})`,
	}),
	lines({
		title: "Wait in the queue",
		description: "95 of 100 jobs waited for less.",
		unit: "s",
		query: quantile(0.95, "endpoint", "sluice_job_delay_seconds_bucket"),
	}),
	lines({
		title: "Workers",
		description: "Workers of all endpoints by what they do.",
		unit: "short",
		query: "sum by (state) (max by (endpoint, state) (sluice_workers))",
	}),
	lines({
		title: "Unhealthy endpoints",
		description: "Endpoints that are not healthy, by what is wrong.",
		unit: "short",
		query: 'sum by (state) (max by (endpoint, state) (sluice_endpoint_health{state!="healthy"}))',
	}),
	lines({
		title: "GPUs",
		description: "GPUs of the configuration by what they do, on all hosts.",
		unit: "short",
		query: 'sum by (state) (sluice_gpus{host="local"} or max by (host, model, state) (sluice_gpus{host!="local"}))',
	}),
	lines({
		title: "Refusals",
		description: "Answers with an error a second, by its code.",
		unit: "ops",
		query: `sum by (code) (${rate("sluice_http_refusals_total")})`,
	}),
	lines({
		title: "Pending webhooks",
		description: "Deliveries that are being sent, wait for their turn, or wait for another attempt.",
		unit: "short",
		query: "max by (endpoint) (sluice_webhooks_pending)",
	}),
];
