/**
 * `/metrics` for Prometheus (D40), limited to the key's endpoints. Gauges cover all servers, counters only this one.
 */
import { EXPOSITION_TYPE } from "../../api/metrics.ts";
import { type Budget, type BudgetMeter, type BudgetMeters, type BudgetName, BUDGETS } from "../../core/budgets.ts";
import { GPU_USES } from "../../core/workers/gpus.ts";
import { type MetricBucket, OUTCOMES } from "../../core/metrics/metric-buckets.ts";
import { may } from "../../engine/access/keys.ts";
import type { Engine } from "../../engine/engine.ts";
import type { EndpointSnapshot } from "../../engine/metrics/health.ts";
import type { GpuTotals } from "../../engine/metrics/gpu-use.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import { version } from "../../version.ts";
import { principalOf } from "../gates/auth.ts";
import type { Call } from "../exchange/call.ts";
import { counter, type Durations, exposition, type Family, gauge } from "./exposition.ts";

/** No gauges while the store is unavailable. */
export async function metrics(call: Call): Promise<void> {
	const { engine, res } = call;
	const sees = (endpoint: string): boolean => may(principalOf(call), "read", endpoint);
	const present = await engine.metrics.snapshots().catch((error: unknown) => {
		if (error instanceof StoreUnavailable) return undefined;
		throw error;
	});
	const pending = present && (await engine.webhooks.pending());
	const stored = present && (await engine.metrics.stored());
	const totals = [...engine.metrics.history.totals()].filter(
		([endpoint]) => engine.endpoints.has(endpoint) && sees(endpoint),
	);
	const text = exposition([
		gauge("sluice_build_info", "The version that runs.", [[{ version }, 1]]),
		gauge("sluice_store_up", "Whether the store can be read.", [[{}, Number(present !== undefined)]]),
		...ofPresent(present?.filter(({ endpoint }) => sees(endpoint.id)) ?? []),
		gauge(
			"sluice_stored_bytes",
			"Inputs, results and chunks of jobs in the store.",
			(stored ?? [])
				.filter(({ endpoint }) => engine.endpoints.has(endpoint) && sees(endpoint))
				.map(({ endpoint, bytes }) => [{ endpoint }, bytes]),
		),
		...ofTotals(totals),
		...ofGpus([...engine.metrics.gpuTotals()].filter(([endpoint]) => engine.endpoints.has(endpoint) && sees(endpoint))),
		{
			name: "sluice_store_seconds",
			type: "histogram",
			help: "Time of the store for reading all counts, and for writing metrics.",
			samples: Object.entries(engine.metrics.history.storeMs).map(([operation, histogram]) => [
				{ operation },
				histogram,
			]),
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
		gauge(
			"sluice_webhooks_pending",
			"Webhook deliveries that are due later or in flight, on all servers; at most 10,000 are counted.",
			[...pending].filter(([endpoint]) => sees(endpoint)).map(([endpoint, count]) => [{ endpoint }, count]),
		),
		counter(
			"sluice_webhooks_total",
			"Webhook deliveries finished by this server.",
			[...webhooks.totals]
				.filter(([endpoint]) => sees(endpoint))
				.flatMap(([endpoint, counts]) => Object.entries(counts).map(([state, count]) => [{ endpoint, state }, count])),
		),
	];
}

/** Budgets of times have limits only. */
function ofBudgets(meters: BudgetMeters): Family[] {
	const each = (value: (meter: BudgetMeter) => number): Family["samples"] =>
		Object.entries<Budget>(BUDGETS)
			.filter(([, { unit }]) => unit !== "ms")
			.map(([budget]) => [{ budget }, value(meters[budget as BudgetName])]);
	return [
		gauge(
			"sluice_budget_limit",
			"The most that may be held of a budget of this server.",
			each(({ limit }) => limit),
		),
		gauge(
			"sluice_budget_used",
			"What is held of a budget of this server.",
			each(({ used }) => used),
		),
		counter(
			"sluice_budget_refusals_total",
			"Refusals because a budget of this server was spent.",
			each(({ spent }) => spent),
		),
	];
}

function ofPresent(all: readonly EndpointSnapshot[]): Family[] {
	const each = (
		labels: (snapshot: EndpointSnapshot) => readonly (readonly [state: string, count: number])[],
	): Family["samples"] =>
		all.flatMap((present) =>
			labels(present).map(([state, count]) => [{ endpoint: present.endpoint.id, state }, count]),
		);
	return [
		gauge(
			"sluice_jobs",
			"Jobs that wait or run, on all servers.",
			each(({ jobs }) => [
				["IN_QUEUE", jobs.inQueue],
				["IN_PROGRESS", jobs.inProgress],
			]),
		),
		gauge(
			"sluice_workers",
			"Workers by what they do, on all servers.",
			each(({ workers, asleep }) => [
				["idle", workers.idle],
				["running", workers.running],
				["initializing", workers.initializing],
				["unhealthy", workers.unhealthy],
				["asleep", asleep],
			]),
		),
		gauge(
			"sluice_endpoint_paused",
			"Whether jobs are queued but not sent to workers.",
			all.map(({ endpoint, paused }) => [{ endpoint: endpoint.id }, Number(paused)]),
		),
	];
}

function ofTotals(totals: readonly (readonly [endpoint: string, tally: MetricBucket])[]): (Family | Durations)[] {
	const total = (name: string, help: string, of: "submitted" | "retried" | "coldStarts"): Family =>
		counter(
			name,
			help,
			totals.map(([endpoint, { counts }]) => [{ endpoint }, counts[of]]),
		);
	const durations = (name: string, help: string, of: "delay" | "execution"): Durations => ({
		name,
		type: "histogram",
		help,
		samples: totals.map(([endpoint, tally]) => [{ endpoint }, tally[of]]),
	});
	return [
		total("sluice_jobs_submitted_total", "Jobs accepted by this server.", "submitted"),
		counter(
			"sluice_jobs_ended_total",
			"Jobs whose end this server recorded.",
			totals.flatMap(([endpoint, { counts }]) => OUTCOMES.map((outcome) => [{ endpoint, outcome }, counts[outcome]])),
		),
		total("sluice_jobs_retried_total", "Returns to the queue by a retry or a loss.", "retried"),
		total("sluice_workers_launched_total", "Workers started by this server.", "coldStarts"),
		durations("sluice_job_delay_seconds", "Waits in the queue of jobs sent to workers by this server.", "delay"),
		durations("sluice_job_execution_seconds", "Runs whose end a worker reported to this server.", "execution"),
		...ofReleases(totals),
	];
}

/** Versions of each endpoint, the newest with jobs, which bounds the number of labels. */
const SHOWN_RELEASES = 2;

function ofReleases(totals: readonly (readonly [endpoint: string, tally: MetricBucket])[]): (Family | Durations)[] {
	const shown = totals.flatMap(([endpoint, { releases }]) =>
		[...releases]
			.toSorted(([one], [other]) => other - one)
			.slice(0, SHOWN_RELEASES)
			.map(([version, jobs]) => ({ labels: { endpoint, release: String(version) }, jobs })),
	);
	return [
		counter(
			"sluice_release_jobs_ended_total",
			"Jobs that ended on launched workers, by version; failed: also timed out. The two newest with jobs.",
			shown.flatMap(({ labels, jobs }) =>
				(["completed", "failed"] as const).map((outcome) => [{ ...labels, outcome }, jobs[outcome]] as const),
			),
		),
		{
			name: "sluice_release_execution_seconds",
			type: "histogram",
			help: "Runs whose end a launched worker reported to this server, by version.",
			samples: shown.map(({ labels, jobs }) => [labels, jobs.execution]),
		},
	];
}

function ofGpus(totals: readonly (readonly [endpoint: string, totals: GpuTotals])[]): (Family | Durations)[] {
	return [
		counter(
			"sluice_gpu_seconds_total",
			"GPUs of workers that this server launched, times seconds, by what the workers did.",
			totals.flatMap(([endpoint, { ms }]) => GPU_USES.map((state) => [{ endpoint, state }, ms[state] / 1000])),
		),
		counter(
			"sluice_workers_made_room_total",
			"Workers of the endpoint that this server stopped to make room for another one, by what they did before.",
			totals.flatMap(([endpoint, { madeRoom }]) =>
				Object.entries(madeRoom).map(([state, count]) => [{ endpoint, state }, count] as const),
			),
		),
		{
			name: "sluice_swap_seconds",
			type: "histogram",
			help: "Time from the decision to make room for a worker of the endpoint to its first call.",
			samples: totals.map(([endpoint, { swaps }]) => [{ endpoint }, swaps]),
		},
	];
}

/** Standard names of Prometheus exporters. */
function ofProcess(): Family[] {
	const { rss, heapUsed, external } = process.memoryUsage();
	const { user, system } = process.cpuUsage();
	return [
		counter("process_cpu_seconds_total", "Processor time, user and system.", [[{}, (user + system) / 1e6]]),
		gauge("process_resident_memory_bytes", "Resident memory.", [[{}, rss]]),
		gauge("process_uptime_seconds", "Time since the process began.", [[{}, process.uptime()]]),
		gauge("nodejs_heap_size_used_bytes", "Heap of the service's thread in use.", [[{}, heapUsed]]),
		gauge("nodejs_external_memory_bytes", "Memory outside of the heap.", [[{}, external]]),
	];
}
