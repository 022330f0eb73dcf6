/** Metrics of a server: its requests, budgets, roles, process and store. */
import { type Budget, type BudgetMeter, type BudgetName, BUDGETS } from "../../../kernel/core/budgets.ts";
import { ROLES } from "../../../kernel/engine/cluster/heartbeat.ts";
import { version } from "../../../kernel/version.ts";
import type { Sample } from "../../../kernel/core/metrics/family.ts";
import { counter, each, gauge, histogram, type Metric, one } from "./definition.ts";
import type { Scrape } from "./scrape.ts";

/** Budgets of times have limits only. */
const MEASURED_BUDGETS = Object.entries<Budget>(BUDGETS)
	.filter(([, { unit }]) => unit !== "ms")
	.map(([budget]) => budget as BudgetName);

const ofBudgets =
	(value: (meter: BudgetMeter) => number) =>
	({ engine: { budgets } }: Scrape): Sample[] =>
		MEASURED_BUDGETS.map((budget) => [[budget], value(budgets[budget])]);

const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1000);

export const HTTP_METRICS: readonly Metric[] = [
	gauge(
		"sluice_http_requests_in_flight",
		["operation"],
		"Unanswered requests, such as polls of workers and streams of clients, by operation of the API.",
		({ service }) => each(Object.fromEntries(service.traffic.inFlight)),
	),
	counter(
		"sluice_http_refusals_total",
		["code"],
		"Requests that were answered with an error, by its code.",
		({ service: { traffic } }) => each(Object.fromEntries(traffic.refusals)),
	),
	counter(
		"sluice_http_received_bytes_total",
		[],
		"Bytes received from clients and workers, with headers and encryption.",
		({ service }) => one(service.connections.bytes().received),
	),
	counter(
		"sluice_http_sent_bytes_total",
		[],
		"Bytes sent to clients and workers, with headers and encryption.",
		({ service }) => one(service.connections.bytes().sent),
	),
	gauge(
		"sluice_budget_limit",
		["budget"],
		"The most that may be held of a budget of this server.",
		ofBudgets(({ limit }) => limit),
	),
	gauge(
		"sluice_budget_used",
		["budget"],
		"What is held of a budget of this server.",
		ofBudgets(({ used }) => used),
	),
	counter(
		"sluice_budget_refusals_total",
		["budget"],
		"Refusals because a budget of this server was spent.",
		ofBudgets(({ spent }) => spent),
	),
];

export const STORE_METRICS: readonly Metric[] = [
	gauge("sluice_store_up", [], "Whether the store can be read and written.", ({ isStoreUp }) => one(Number(isStoreUp))),
	histogram(
		"sluice_store_seconds",
		["operation"],
		"Time of the store for reading all counts, and for writing metrics.",
		({ engine }) => each(engine.metrics.history.storeMs),
	),
	histogram(
		"sluice_store_commit_seconds",
		[],
		"Time of commits of jobs: with SQLite its flush, and the checkpoint if one is due; " +
			"with PostgreSQL of the whole transaction.",
		({ storeLoad }) => one(storeLoad?.commitMs),
	),
	histogram("sluice_store_commit_operations", [], "Operations that shared a commit.", ({ storeLoad }) =>
		one(storeLoad?.commitSizes),
	),
	gauge("sluice_store_file_bytes", ["file"], "Sizes of `database` and `wal` of a SQLite store.", ({ files }) =>
		each({ ...files }),
	),
	gauge(
		"sluice_store_disk_free_bytes",
		[],
		"Free space on the disk of a SQLite store, with that of the ballast.",
		({ diskFree }) => one(diskFree),
	),
	gauge(
		"sluice_store_statements_pending",
		["connection"],
		"Statements that PostgreSQL has not answered, by connection.",
		({ storeLoad }) => each({ ...storeLoad?.statements }),
	),
	gauge(
		"sluice_store_operations_waiting",
		[],
		"Operations on jobs that wait for the next transaction of a PostgreSQL store.",
		({ storeLoad }) => one(storeLoad?.waiting),
	),
	counter(
		"sluice_store_lock_timeouts_total",
		[],
		"Transactions of a PostgreSQL store that waited too long for a lock of others.",
		({ storeLoad }) => one(storeLoad?.lockTimeouts),
	),
	gauge(
		"sluice_store_standbys",
		["commits"],
		"Standbys that stream from a PostgreSQL store. `go_on`: no standby is synchronous, so a failover would lose " +
			"acknowledged jobs. `wait`: commits may wait for them.",
		({ standbys }) =>
			standbys
				? each({
						go_on: standbys.isSynchronous ? 0 : standbys.connected,
						wait: standbys.isSynchronous ? standbys.connected : 0,
					})
				: [],
	),
];

export const CLUSTER_METRICS: readonly Metric[] = [
	gauge("sluice_servers", [], "Servers that share the store and are alive, with this one.", ({ engine: { cluster } }) =>
		one(Math.max(1, cluster.servers().length)),
	),
	gauge(
		"sluice_leases_held",
		["role"],
		"Leases of this server; `scale`: endpoints whose workers it starts and stops.",
		({ engine: { cluster }, endpoints }) => [
			...ROLES.map((role): Sample => [[role], Number(cluster.leads(role))]),
			[["scale"], endpoints.filter((id) => cluster.scales(id)).length],
		],
	),
	gauge(
		"sluice_clock_offset_seconds",
		[],
		"Time of day of this machine minus that of the database of a PostgreSQL store, within a round trip.",
		({ engine }) => one(seconds(engine.skewFromDatabase())),
	),
];

/** Names as of other exporters, where these have such a metric. */
export const PROCESS_METRICS: readonly Metric[] = [
	gauge("sluice_build_info", ["version"], "The version that runs.", () => [[[version], 1]]),
	counter("process_cpu_seconds_total", [], "Processor time, user and system.", () => {
		const { user, system } = process.cpuUsage();
		return one((user + system) / 1e6);
	}),
	gauge("process_resident_memory_bytes", [], "Resident memory.", () => one(process.memoryUsage.rss())),
	gauge("process_uptime_seconds", [], "Time since the process began.", () => one(process.uptime())),
	gauge("nodejs_heap_size_used_bytes", [], "Heap of the service's thread in use.", () =>
		one(process.memoryUsage().heapUsed),
	),
	gauge("nodejs_external_memory_bytes", [], "Memory outside of the heap.", () => one(process.memoryUsage().external)),
	gauge(
		"nodejs_eventloop_delay_p50_seconds",
		[],
		"Median delay of the event loop in the last one to two minutes.",
		({ eventLoop }) => one(eventLoop?.p50),
	),
	gauge(
		"nodejs_eventloop_delay_p99_seconds",
		[],
		"99th percentile of the delay of the event loop in the last one to two minutes.",
		({ eventLoop }) => one(eventLoop?.p99),
	),
	gauge(
		"nodejs_eventloop_delay_max_seconds",
		[],
		"Longest delay of the event loop in the last one to two minutes.",
		({ eventLoop }) => one(eventLoop?.max),
	),
	counter("nodejs_eventloop_active_seconds_total", [], "Time in which the event loop worked.", () =>
		one(performance.eventLoopUtilization().active / 1000),
	),
];
