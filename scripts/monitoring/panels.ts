/**
 * Panels of the Grafana dashboards in `deploy/grafana/` (`npm run reference`). Gauges about endpoints are those of all
 * servers, so the maximum over servers is taken; counters and histograms are of one server, so they are added up.
 */

export interface Panel {
	title: string;
	/** Where it says what the title cannot: a sentence. */
	description: string;
	kind: "stat" | "timeseries";
	/** Unit of Grafana. */
	unit: "bytes" | "Bps" | "ops" | "percentunit" | "s" | "short";
	/** PromQL. */
	query: string;
	/** Labels in braces are replaced; by default all labels. */
	legend?: string;
}

export interface Dashboard {
	id: "overview" | "endpoint" | "server";
	title: string;
	description: string;
	/** A label of which the reader selects values, `$endpoint` or `$instance` in queries. */
	variable?: "endpoint" | "instance";
	panels: readonly Panel[];
}

type Rest = Pick<Panel, "title" | "description" | "unit" | "query" | "legend">;
const stat = (panel: Rest): Panel => ({ kind: "stat", ...panel });
const lines = (panel: Rest): Panel => ({ kind: "timeseries", ...panel });

const rate = (series: string): string => `rate(${series}[$__rate_interval])`;
const quantile = (q: number, by: string, series: string): string =>
	`histogram_quantile(${q}, sum by (${by}, le) (${rate(series)}))`;

const EP = 'endpoint=~"$endpoint"';
const AT = 'instance=~"$instance"';

const OVERVIEW: readonly Panel[] = [
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

const ENDPOINT: readonly Panel[] = [
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

const SERVER: readonly Panel[] = [
	stat({
		title: "Store",
		description: "1 while the store can be read.",
		unit: "short",
		query: `min(sluice_store_up{${AT}})`,
	}),
	stat({
		title: "Servers on the store",
		description: "Servers that are alive on the same store.",
		unit: "short",
		query: `max(sluice_servers{${AT}})`,
	}),
	stat({
		title: "Free disk",
		description: "SQLite only. Below the reserve (budgets.reservedDisk) submissions are refused.",
		unit: "bytes",
		query: `min(sluice_store_disk_free_bytes{${AT}})`,
	}),
	stat({
		title: "Clock offset",
		description: "PostgreSQL only. How far a clock differs from that of the database.",
		unit: "s",
		query: `max(abs(sluice_clock_offset_seconds{${AT}}))`,
	}),
	stat({
		title: "Uptime",
		description: "Time since the server that started last began.",
		unit: "s",
		query: `min(process_uptime_seconds{${AT}})`,
	}),
	stat({
		title: "Fullest budget",
		description: "Share of the budget that is used most. At 100 % requests are refused or wait.",
		unit: "percentunit",
		query: `max(sluice_budget_used{${AT}} / sluice_budget_limit{${AT}})`,
	}),
	lines({
		title: "Commit",
		description: "99 of 100 commits took less time, the flush to the disk included.",
		unit: "s",
		query: quantile(0.99, "instance", `sluice_store_commit_seconds_bucket{${AT}}`),
	}),
	lines({
		title: "Operations of a commit",
		description: "Mean number of operations that shared a commit; it grows with the load.",
		unit: "short",
		query:
			`sum by (instance) (${rate(`sluice_store_commit_operations_sum{${AT}}`)}) / ` +
			`sum by (instance) (${rate(`sluice_store_commit_operations_count{${AT}}`)})`,
	}),
	lines({
		title: "Files of SQLite",
		description: "A write-ahead log (wal) that only grows is held by a reader, such as a backup.",
		unit: "bytes",
		query: `sluice_store_file_bytes{${AT}}`,
		legend: "{{instance}} {{file}}",
	}),
	lines({
		title: "Waits for PostgreSQL",
		description: "Operations on jobs that wait for the next transaction.",
		unit: "short",
		query: `sluice_store_operations_waiting{${AT}}`,
		legend: "{{instance}}",
	}),
	lines({
		title: "Statements in PostgreSQL",
		description: "Statements without an answer, by connection.",
		unit: "short",
		query: `sluice_store_statements_pending{${AT}}`,
		legend: "{{instance}} {{connection}}",
	}),
	lines({
		title: "Lock timeouts",
		description: "Transactions a second that waited too long for a lock of another session.",
		unit: "ops",
		query: rate(`sluice_store_lock_timeouts_total{${AT}}`),
		legend: "{{instance}}",
	}),
	lines({
		title: "Roles",
		description:
			"What the server does for all: sweep, removal, deliveries, and the number of endpoints that it scales.",
		unit: "short",
		query: `sluice_leases_held{${AT}}`,
		legend: "{{instance}} {{role}}",
	}),
	lines({
		title: "Budgets",
		description: "Share of each budget that is used.",
		unit: "percentunit",
		query: `sluice_budget_used{${AT}} / sluice_budget_limit{${AT}}`,
		legend: "{{instance}} {{budget}}",
	}),
	lines({
		title: "Requests in flight",
		description: "Open requests by operation; jobTake and jobStop are polls of workers.",
		unit: "short",
		query: `sum by (operation) (sluice_http_requests_in_flight{${AT}})`,
	}),
	lines({
		title: "Refusals",
		description: "Answers with an error a second, by its code.",
		unit: "ops",
		query: `sum by (instance, code) (${rate(`sluice_http_refusals_total{${AT}}`)})`,
	}),
	lines({
		title: "Received",
		description: "Bytes a second from clients and workers.",
		unit: "Bps",
		query: rate(`sluice_http_received_bytes_total{${AT}}`),
		legend: "{{instance}}",
	}),
	lines({
		title: "Sent",
		description: "Bytes a second to clients and workers.",
		unit: "Bps",
		query: rate(`sluice_http_sent_bytes_total{${AT}}`),
		legend: "{{instance}}",
	}),
	lines({
		title: "Event loop delay",
		description: "99 of 100 turns of the service's thread began with less delay.",
		unit: "s",
		query: `nodejs_eventloop_delay_p99_seconds{${AT}}`,
		legend: "{{instance}}",
	}),
	lines({
		title: "Event loop in use",
		description: "Share of the time in which the service's thread works. Near 100 % it is the bottleneck.",
		unit: "percentunit",
		query: rate(`nodejs_eventloop_active_seconds_total{${AT}}`),
		legend: "{{instance}}",
	}),
	lines({
		title: "Processor",
		description: "Cores in use by all threads.",
		unit: "short",
		query: rate(`process_cpu_seconds_total{${AT}}`),
		legend: "{{instance}}",
	}),
	lines({
		title: "Memory",
		description: "Resident memory of the process.",
		unit: "bytes",
		query: `process_resident_memory_bytes{${AT}}`,
		legend: "{{instance}}",
	}),
];

export const DASHBOARDS: readonly Dashboard[] = [
	{
		id: "overview",
		title: "overview",
		description: "All endpoints and servers: what waits, what fails, what is missing.",
		panels: OVERVIEW,
	},
	{
		id: "endpoint",
		title: "endpoint",
		description: "Jobs, workers, versions, GPUs and webhooks of one endpoint or several.",
		variable: "endpoint",
		panels: ENDPOINT,
	},
	{
		id: "server",
		title: "server and store",
		description: "Store, budgets, connections and process of one server or several.",
		variable: "instance",
		panels: SERVER,
	},
];
