/**
 * `/metrics` for Prometheus (D40), limited to the endpoints of the key. Job and worker gauges cover
 * all servers; counters only the answering one since its start: scrape every server and sum them.
 */
import { EXPOSITION_TYPE } from "../../api/metrics.ts";
import { type Budget, type BudgetName, BUDGETS } from "../../core/budgets.ts";
import { type MetricBucket, OUTCOMES } from "../../core/metrics/metric-buckets.ts";
import { may } from "../../engine/access/keys.ts";
import type { Engine } from "../../engine/api.ts";
import type { EndpointSnapshot } from "../../engine/metrics/endpoint-snapshots.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import { version } from "../../version.ts";
import type { BudgetMeter, BudgetMeters } from "../../budgets.ts";
import { principalOf } from "../auth.ts";
import type { Call } from "../call.ts";
import { type Durations, exposition, type Family } from "./exposition.ts";

/** GET /metrics; no gauges while the store is unavailable. */
export async function metrics(call: Call): Promise<void> {
	const { engine, res } = call;
	const sees = (endpoint: string): boolean => may(principalOf(call), "read", endpoint);
	const present = await engine.metrics.snapshots().catch((error: unknown) => {
		if (error instanceof StoreUnavailable) return undefined;
		throw error;
	});
	const pending = present && (await engine.webhooks.pending());
	const stored = present && (await engine.metrics.stored());
	const totals = [...engine.metrics.totals()].filter(([endpoint]) => engine.endpoints.has(endpoint) && sees(endpoint));
	const text = exposition([
		{
			name: "sluice_build_info",
			type: "gauge",
			help: "The version that runs.",
			samples: [[{ version }, 1]],
		},
		{
			name: "sluice_store_up",
			type: "gauge",
			help: "Whether the store can be read.",
			samples: [[{}, Number(present !== undefined)]],
		},
		...ofPresent(present?.filter(({ endpoint }) => sees(endpoint.id)) ?? []),
		{
			name: "sluice_stored_bytes",
			type: "gauge",
			help: "Inputs, results and chunks of jobs in the store.",
			samples: (stored ?? [])
				.filter(({ endpoint }) => engine.endpoints.has(endpoint) && sees(endpoint))
				.map(({ endpoint, bytes }) => [{ endpoint }, bytes] as const),
		},
		...ofTotals(totals),
		{
			name: "sluice_store_seconds",
			type: "histogram",
			help: "Time of the store for reading all counts, and for writing metrics.",
			samples: Object.entries(engine.metrics.storeMs).map(
				([operation, histogram]) => [{ operation }, histogram] as const,
			),
		},
		...ofWebhooks(engine, sees, pending),
		...ofBudgets(engine.budgets),
		...ofProcess(),
	]);
	res.writeHead(200, [
		"Content-Type",
		EXPOSITION_TYPE,
		"Content-Length",
		String(Buffer.byteLength(text)),
		"Cache-Control",
		"no-store",
	]);
	res.end(text);
}

function ofWebhooks(
	{ webhooks }: Engine,
	sees: (endpoint: string) => boolean,
	pending: ReadonlyMap<string, number> = new Map(),
): Family[] {
	return [
		{
			name: "sluice_webhooks_pending",
			type: "gauge",
			help: "Webhook deliveries that are due later or in flight, on all servers; at most 10,000 are counted.",
			samples: [...pending]
				.filter(([endpoint]) => sees(endpoint))
				.map(([endpoint, count]) => [{ endpoint }, count] as const),
		},
		{
			name: "sluice_webhooks_total",
			type: "counter",
			help: "Webhook deliveries finished by this server.",
			samples: [...webhooks.totals]
				.filter(([endpoint]) => sees(endpoint))
				.flatMap(([endpoint, counts]) =>
					Object.entries(counts).map(([state, count]) => [{ endpoint, state }, count] as const),
				),
		},
	];
}

/** Budgets of times have limits only. */
function ofBudgets(meters: BudgetMeters): Family[] {
	const each = (value: (meter: BudgetMeter) => number): Family["samples"] =>
		Object.entries<Budget>(BUDGETS)
			.filter(([, { unit }]) => unit !== "ms")
			.map(([budget]) => [{ budget }, value(meters[budget as BudgetName])] as const);
	return [
		{
			name: "sluice_budget_limit",
			type: "gauge",
			help: "The most that may be held of a budget of this server.",
			samples: each(({ limit }) => limit),
		},
		{
			name: "sluice_budget_used",
			type: "gauge",
			help: "What is held of a budget of this server.",
			samples: each(({ used }) => used),
		},
		{
			name: "sluice_budget_refusals_total",
			type: "counter",
			help: "Refusals because a budget of this server was spent.",
			samples: each(({ spent }) => spent),
		},
	];
}

function ofPresent(all: readonly EndpointSnapshot[]): Family[] {
	const each = (
		labels: (snapshot: EndpointSnapshot) => readonly (readonly [state: string, count: number])[],
	): Family["samples"] =>
		all.flatMap((present) =>
			labels(present).map(([state, count]) => [{ endpoint: present.endpoint.id, state }, count] as const),
		);
	return [
		{
			name: "sluice_jobs",
			type: "gauge",
			help: "Jobs that wait or run, on all servers.",
			samples: each(({ jobs }) => [
				["IN_QUEUE", jobs.inQueue],
				["IN_PROGRESS", jobs.inProgress],
			]),
		},
		{
			name: "sluice_workers",
			type: "gauge",
			help: "Workers by what they do, on all servers.",
			samples: each(({ workers }) => [
				["idle", workers.idle],
				["running", workers.running],
				["initializing", workers.initializing],
				["unhealthy", workers.unhealthy],
			]),
		},
		{
			name: "sluice_endpoint_paused",
			type: "gauge",
			help: "Whether jobs are queued but not sent to workers.",
			samples: all.map(({ endpoint, paused }) => [{ endpoint: endpoint.id }, Number(paused)] as const),
		},
	];
}

function ofTotals(totals: readonly (readonly [endpoint: string, tally: MetricBucket])[]): (Family | Durations)[] {
	const counter = (name: string, help: string, value: (tally: MetricBucket) => number): Family => ({
		name,
		type: "counter",
		help,
		samples: totals.map(([endpoint, tally]) => [{ endpoint }, value(tally)] as const),
	});
	const durations = (name: string, help: string, of: "delay" | "execution"): Durations => ({
		name,
		type: "histogram",
		help,
		samples: totals.map(([endpoint, tally]) => [{ endpoint }, tally[of]] as const),
	});
	return [
		counter("sluice_jobs_submitted_total", "Jobs accepted by this server.", ({ counts }) => counts.submitted),
		{
			name: "sluice_jobs_ended_total",
			type: "counter",
			help: "Jobs whose end this server recorded.",
			samples: totals.flatMap(([endpoint, { counts }]) =>
				OUTCOMES.map((outcome) => [{ endpoint, outcome }, counts[outcome]] as const),
			),
		},
		counter("sluice_jobs_retried_total", "Returns to the queue by a retry or a loss.", ({ counts }) => counts.retried),
		counter("sluice_workers_launched_total", "Workers started by this server.", ({ counts }) => counts.coldStarts),
		durations("sluice_job_delay_seconds", "Waits in the queue of jobs sent to workers by this server.", "delay"),
		durations("sluice_job_execution_seconds", "Runs whose end a worker reported to this server.", "execution"),
	];
}

/** Standard names of Prometheus exporters. */
function ofProcess(): Family[] {
	const { rss, heapUsed, external } = process.memoryUsage();
	const { user, system } = process.cpuUsage();
	const one = (name: string, type: Family["type"], help: string, value: number): Family => ({
		name,
		type,
		help,
		samples: [[{}, value]],
	});
	return [
		one("process_cpu_seconds_total", "counter", "Processor time, user and system.", (user + system) / 1e6),
		one("process_resident_memory_bytes", "gauge", "Resident memory.", rss),
		one("process_uptime_seconds", "gauge", "Time since the process began.", process.uptime()),
		one("nodejs_heap_size_used_bytes", "gauge", "Heap of the service's thread in use.", heapUsed),
		one("nodejs_external_memory_bytes", "gauge", "Memory outside of the heap.", external),
	];
}
