/** Panels about servers: store, budgets, connections, process. */
import { AT, lines, quantile, rate, stat, type Panel } from "./panel.ts";

export const SERVER: readonly Panel[] = [
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
