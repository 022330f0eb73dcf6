/** The alert rules with their values in PromQL. */
import {
	ALERT_NAMES,
	type AlertName,
	type AlertRule,
	FEWEST_FAILURES,
	NO_ROOM,
	ruleOf,
	UNALARMING_BUDGET,
} from "../../src/modules/alerts/rules.ts";
import { durationText } from "../../src/kernel/core/durations.ts";

export interface PrometheusRule extends AlertRule {
	name: AlertName;
	/** PromQL with a series for each endpoint or server that can be affected. */
	value: string;
}

/** Share of ended jobs that did not complete, once there are some of these. */
const FAILURE_RATIO =
	'sum by (endpoint) (rate(sluice_jobs_ended_total{outcome=~"failed|timedOut"}[window])) / ' +
	'sum by (endpoint) (rate(sluice_jobs_ended_total{outcome!="cancelled"}[window])) and ' +
	'sum by (endpoint) (increase(sluice_jobs_ended_total{outcome=~"failed|timedOut"}[window])) ' +
	`> ${FEWEST_FAILURES - 1}`;

/** `[window]`: that of the rule. */
const VALUES: Readonly<Record<AlertName, string>> = {
	SluiceServerDown: 'up{job="sluice"}',
	SluiceStoreDown: "sluice_store_up",
	SluiceStoreSlow: "histogram_quantile(0.99, sum by (instance, le) (rate(sluice_store_commit_seconds_bucket[window])))",
	SluiceDiskAlmostFull: 'sluice_store_disk_free_bytes / on (job, instance) sluice_budget_limit{budget="reservedDisk"}',
	SluiceCrashLoop: 'max by (endpoint) (sluice_endpoint_health{state="crashing"})',
	SluiceNoCapacity: `max by (endpoint, reason) (sluice_endpoint_workers_missing{reason=~"${NO_ROOM.join("|")}"})`,
	SluiceNoWorkers: 'max by (endpoint) (sluice_endpoint_health{state="no_workers"})',
	SluiceOldestWait:
		"max by (endpoint) (sluice_job_oldest_wait_seconds) unless on (endpoint) " +
		"(max by (endpoint) (sluice_endpoint_paused) == 1)",
	SluiceFailures: FAILURE_RATIO,
	SluiceWebhookBacklog: "max by (endpoint) (sluice_webhooks_pending)",
	SluiceWebhooksFail: 'sum by (endpoint) (increase(sluice_webhooks_total{state="failed"}[window]))',
	SluiceRefuses:
		"sum by (instance, budget) " + `(increase(sluice_budget_refusals_total{budget!="${UNALARMING_BUDGET}"}[window]))`,
	SluiceClockSkew: "abs(sluice_clock_offset_seconds)",
	SluiceReplicationAsync: 'max(sluice_store_standbys{commits="go_on"})',
	SluiceSwaps:
		'sum(rate(sluice_gpu_seconds_total{state="starting"}[window])) / ' +
		'sum(rate(sluice_gpu_seconds_total{state="busy"}[window]))',
};

export const ALERT_RULES: readonly PrometheusRule[] = ALERT_NAMES.map((name) => {
	const rule = ruleOf(name);
	const window = durationText((rule.windowSeconds ?? 0) * 1000);
	return { name, ...rule, value: VALUES[name].replaceAll("[window]", `[${window}]`) };
});

/** The condition in PromQL. */
export function expressionOf({ value, comparison, threshold }: PrometheusRule): string {
	return `(${value}) ${comparison} ${threshold}`;
}
