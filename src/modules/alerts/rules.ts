/**
 * Alert rules (D53): the service evaluates them, and `deploy/prometheus/rules.yaml`, whose PromQL is in
 * `scripts/monitoring/alert-rules.ts`, and the index of `docs/runbooks/` are made of them (`npm run reference`).
 */
import { durationText } from "../../kernel/core/durations.ts";

export interface AlertRule {
	/**
	 * `server`: each server evaluates the rule about itself, with the label `instance`. `service`: one server evaluates
	 * it for all.
	 */
	of: "server" | "service";
	/** The alert is active while the value is on this side of `threshold`. */
	comparison: ">" | "<";
	threshold: number;
	unit: "seconds" | "ratio" | "count";
	/** How long the condition must hold before the alert fires, s. */
	forSeconds: number;
	/** Time over which the value is counted, s. */
	windowSeconds?: number;
	/** `critical`: jobs do not run, or are refused. */
	severity: "critical" | "warning";
	/** One sentence; `{value}`, and labels such as `{endpoint}`, are replaced. */
	summary: string;
}

const MINUTE = 60;

/** Minimum of failed jobs: fewer are no trend. */
export const FEWEST_FAILURES = 5;

/** Reasons for missing workers that mean that no GPU, node or host has room. */
export const NO_ROOM: readonly string[] = ["no_gpu_free", "unschedulable", "queued"];

/** Budget without an alert: wrong keys mean a scan, and lock out no valid key. */
export const UNALARMING_BUDGET = "failedKeysPerAddress";

export const ALERT_RULES = {
	SluiceServerDown: {
		of: "service",
		comparison: "<",
		threshold: 1,
		unit: "count",
		forSeconds: 2 * MINUTE,
		severity: "critical",
		summary: "The server {instance} does not answer.",
	},
	SluiceStoreDown: {
		of: "server",
		comparison: "<",
		threshold: 1,
		unit: "count",
		forSeconds: MINUTE,
		severity: "critical",
		summary: "The server {instance} cannot use its store: submissions are refused, results are held.",
	},
	SluiceStoreSlow: {
		of: "server",
		comparison: ">",
		threshold: 0.5,
		unit: "seconds",
		forSeconds: 10 * MINUTE,
		windowSeconds: 10 * MINUTE,
		severity: "warning",
		summary: "One commit in a hundred of the server {instance} takes {value} or more.",
	},
	SluiceDiskAlmostFull: {
		of: "server",
		comparison: "<",
		threshold: 4,
		unit: "count",
		forSeconds: MINUTE,
		severity: "critical",
		summary: "The disk of {instance} has {value} times its reserve free; at 1 submissions are refused.",
	},
	SluiceCrashLoop: {
		of: "service",
		comparison: ">",
		threshold: 0,
		unit: "count",
		forSeconds: 2 * MINUTE,
		severity: "critical",
		summary: "Workers of {endpoint} exit before they take a job.",
	},
	SluiceNoCapacity: {
		of: "service",
		comparison: ">",
		threshold: 0,
		unit: "count",
		forSeconds: 10 * MINUTE,
		severity: "warning",
		summary: "{endpoint} needs a worker, but no GPU, node or host has room for it ({reason}).",
	},
	SluiceNoWorkers: {
		of: "service",
		comparison: ">",
		threshold: 0,
		unit: "count",
		forSeconds: 5 * MINUTE,
		severity: "critical",
		summary: "Jobs of {endpoint} wait, and no worker is attached or allowed.",
	},
	SluiceOldestWait: {
		of: "service",
		comparison: ">",
		threshold: 5 * MINUTE,
		unit: "seconds",
		forSeconds: MINUTE,
		severity: "warning",
		summary: "A job of {endpoint} has waited for {value}.",
	},
	SluiceFailures: {
		of: "service",
		comparison: ">",
		threshold: 0.05,
		unit: "ratio",
		forSeconds: 5 * MINUTE,
		windowSeconds: 10 * MINUTE,
		severity: "warning",
		summary: "{value} of the jobs of {endpoint} failed or timed out.",
	},
	SluiceWebhookBacklog: {
		of: "service",
		comparison: ">",
		threshold: 500,
		unit: "count",
		forSeconds: 10 * MINUTE,
		severity: "warning",
		summary: "{value} webhooks of {endpoint} are pending.",
	},
	SluiceWebhooksFail: {
		of: "service",
		comparison: ">",
		threshold: 0,
		unit: "count",
		forSeconds: 0,
		windowSeconds: 60 * MINUTE,
		severity: "warning",
		summary: "{value} webhooks of {endpoint} were given up in the last hour.",
	},
	SluiceRefuses: {
		of: "server",
		comparison: ">",
		threshold: 0,
		unit: "count",
		forSeconds: 0,
		windowSeconds: 10 * MINUTE,
		severity: "warning",
		summary: "The server {instance} refused {value} requests in 10 minutes: its budget {budget} was spent.",
	},
	SluiceClockSkew: {
		of: "server",
		comparison: ">",
		threshold: 1,
		unit: "seconds",
		forSeconds: 5 * MINUTE,
		severity: "warning",
		summary: "The clock of {instance} differs from that of the database by {value}.",
	},
	SluiceReplicationAsync: {
		of: "service",
		comparison: ">",
		threshold: 0,
		unit: "count",
		// A new standby is asynchronous until it has caught up and `synchronous_standby_names` contains it.
		forSeconds: 30 * MINUTE,
		severity: "warning",
		summary: "No standby of PostgreSQL is synchronous ({value} connected): a failover would lose acknowledged jobs.",
	},
	SluiceSwaps: {
		of: "server",
		comparison: ">",
		threshold: 1,
		unit: "ratio",
		forSeconds: 60 * MINUTE,
		windowSeconds: 60 * MINUTE,
		severity: "warning",
		summary: "GPUs spend more time on loading models than on jobs: {value} of the time of jobs.",
	},
} as const satisfies Readonly<Record<string, AlertRule>>;

export type AlertName = keyof typeof ALERT_RULES;

export const ALERT_NAMES = Object.keys(ALERT_RULES) as AlertName[];

export function ruleOf(name: AlertName): AlertRule {
	return ALERT_RULES[name];
}

/** Path of its runbook in the repository: `SluiceStoreDown` has `docs/runbooks/store-down.md`. */
export function runbookOf(name: string): string {
	const words = name.replace(/^Sluice/, "").match(/[A-Z][a-z]+/g) ?? [];
	return `docs/runbooks/${words.join("-").toLowerCase()}.md`;
}

/** Returns the summary of an alert with the values of its labels. */
export function summaryOf(name: AlertName, labels: Readonly<Record<string, string>>, value: number): string {
	const { summary, unit } = ruleOf(name);
	return summary.replace(/\{(\w+)\}/g, (_, label: string) =>
		label === "value" ? valueText(value, unit) : (labels[label] ?? ""),
	);
}

function valueText(value: number, unit: AlertRule["unit"]): string {
	if (unit === "seconds") return durationText(value < 10 ? Math.round(value * 1000) : Math.round(value) * 1000);
	return unit === "ratio" ? `${Number((value * 100).toPrecision(3))} %` : String(Number(value.toPrecision(3)));
}
