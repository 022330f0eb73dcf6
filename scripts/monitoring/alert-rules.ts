/**
 * Alert rules. `deploy/prometheus/rules.yaml` and the index of `docs/runbooks/` are made of them (`npm run reference`).
 */

export interface AlertRule {
	name: string;
	/** PromQL with a series for each endpoint or server that can be affected. Ranges are `[10m]` and `[1h]`. */
	value: string;
	/** The alert is active while `value` is on this side of `threshold`. */
	comparison: ">" | "<";
	threshold: number;
	unit: "seconds" | "ratio" | "count";
	/** How long it is active before it fires, s. */
	forSeconds: number;
	/** `critical`: jobs do not run, or are refused. */
	severity: "critical" | "warning";
	/** One sentence; `{value}`, and labels of the series such as `{endpoint}`, are replaced. */
	summary: string;
}

const MINUTE = 60;

/** Share of ended jobs that did not complete, once there are five of these: one job is no trend. */
const FAILURE_RATIO =
	'sum by (endpoint) (rate(sluice_jobs_ended_total{outcome=~"failed|timedOut"}[10m])) / ' +
	'sum by (endpoint) (rate(sluice_jobs_ended_total{outcome!="cancelled"}[10m])) and ' +
	'sum by (endpoint) (increase(sluice_jobs_ended_total{outcome=~"failed|timedOut"}[10m])) > 4';

export const ALERT_RULES: readonly AlertRule[] = [
	{
		name: "SluiceServerDown",
		value: 'up{job="sluice"}',
		comparison: "<",
		threshold: 1,
		unit: "count",
		forSeconds: 2 * MINUTE,
		severity: "critical",
		summary: "The server {instance} does not answer.",
	},
	{
		name: "SluiceStoreDown",
		value: "sluice_store_up",
		comparison: "<",
		threshold: 1,
		unit: "count",
		forSeconds: MINUTE,
		severity: "critical",
		summary: "The server {instance} cannot use its store: submissions are refused, results are held.",
	},
	{
		name: "SluiceStoreSlow",
		value: "histogram_quantile(0.99, sum by (instance, le) (rate(sluice_store_commit_seconds_bucket[10m])))",
		comparison: ">",
		threshold: 0.5,
		unit: "seconds",
		forSeconds: 10 * MINUTE,
		severity: "warning",
		summary: "One commit in a hundred of the server {instance} takes {value} or more.",
	},
	{
		name: "SluiceDiskAlmostFull",
		value: 'sluice_store_disk_free_bytes / on (job, instance) sluice_budget_limit{budget="reservedDisk"}',
		comparison: "<",
		threshold: 4,
		unit: "count",
		forSeconds: MINUTE,
		severity: "critical",
		summary: "The disk of {instance} has {value} times its reserve free; at 1 submissions are refused.",
	},
	{
		name: "SluiceCrashLoop",
		value: 'max by (endpoint) (sluice_endpoint_health{state="crashing"})',
		comparison: ">",
		threshold: 0,
		unit: "count",
		forSeconds: 2 * MINUTE,
		severity: "critical",
		summary: "Workers of {endpoint} exit before they take a job.",
	},
	{
		name: "SluiceNoCapacity",
		value:
			"max by (endpoint, reason) " + '(sluice_endpoint_workers_missing{reason=~"no_gpu_free|unschedulable|queued"})',
		comparison: ">",
		threshold: 0,
		unit: "count",
		forSeconds: 10 * MINUTE,
		severity: "warning",
		summary: "{endpoint} needs a worker for which there is no room ({reason}).",
	},
	{
		name: "SluiceNoWorkers",
		value: 'max by (endpoint) (sluice_endpoint_health{state="no_workers"})',
		comparison: ">",
		threshold: 0,
		unit: "count",
		forSeconds: 5 * MINUTE,
		severity: "critical",
		summary: "Jobs of {endpoint} wait, and no worker is attached or allowed.",
	},
	{
		name: "SluiceOldestWait",
		value:
			"max by (endpoint) (sluice_job_oldest_wait_seconds) unless on (endpoint) " +
			"(max by (endpoint) (sluice_endpoint_paused) == 1)",
		comparison: ">",
		threshold: 5 * MINUTE,
		unit: "seconds",
		forSeconds: MINUTE,
		severity: "warning",
		summary: "A job of {endpoint} has waited for {value}.",
	},
	{
		name: "SluiceFailures",
		value: FAILURE_RATIO,
		comparison: ">",
		threshold: 0.05,
		unit: "ratio",
		forSeconds: 5 * MINUTE,
		severity: "warning",
		summary: "{value} of the jobs of {endpoint} failed or timed out.",
	},
	{
		name: "SluiceWebhookBacklog",
		value: "max by (endpoint) (sluice_webhooks_pending)",
		comparison: ">",
		threshold: 500,
		unit: "count",
		forSeconds: 10 * MINUTE,
		severity: "warning",
		summary: "{value} webhooks of {endpoint} are pending.",
	},
	{
		name: "SluiceWebhooksFail",
		value: 'sum by (endpoint) (increase(sluice_webhooks_total{state="failed"}[1h]))',
		comparison: ">",
		threshold: 0,
		unit: "count",
		forSeconds: 0,
		severity: "warning",
		summary: "{value} webhooks of {endpoint} were given up in the last hour.",
	},
	{
		name: "SluiceRefuses",
		// Wrong keys are a scan, and lock out no valid key.
		value: 'sum by (instance, budget) (increase(sluice_budget_refusals_total{budget!="failedKeysPerAddress"}[10m]))',
		comparison: ">",
		threshold: 0,
		unit: "count",
		forSeconds: 0,
		severity: "warning",
		summary: "The server {instance} refused {value} requests in 10 minutes: its budget {budget} was spent.",
	},
	{
		name: "SluiceClockSkew",
		value: "abs(sluice_clock_offset_seconds)",
		comparison: ">",
		threshold: 1,
		unit: "seconds",
		forSeconds: 5 * MINUTE,
		severity: "warning",
		summary: "The clock of {instance} differs from that of the database by {value}.",
	},
	{
		name: "SluiceSwaps",
		value:
			'sum(rate(sluice_gpu_seconds_total{state="starting"}[1h])) / ' +
			'sum(rate(sluice_gpu_seconds_total{state="busy"}[1h]))',
		comparison: ">",
		threshold: 1,
		unit: "ratio",
		forSeconds: 60 * MINUTE,
		severity: "warning",
		summary: "GPUs load models for longer than they work: {value} of the time of jobs.",
	},
];

/** The condition in PromQL. */
export function expressionOf({ value, comparison, threshold }: AlertRule): string {
	return `(${value}) ${comparison} ${threshold}`;
}

/** Path of its runbook in the repository: `SluiceStoreDown` has `docs/runbooks/store-down.md`. */
export function runbookOf({ name }: Pick<AlertRule, "name">): string {
	const words = name.replace(/^Sluice/, "").match(/[A-Z][a-z]+/g) ?? [];
	return `docs/runbooks/${words.join("-").toLowerCase()}.md`;
}
