/** The rules of Prometheus, and the index of their runbooks. */
import { stringify } from "yaml";
import { type AlertRule, runbookOf } from "../../src/modules/alerts/rules.ts";
import { ALERT_RULES, expressionOf, type PrometheusRule } from "./alert-rules.ts";
import { HEAD, table } from "../gen/markdown.ts";

const VALUES: Readonly<Record<AlertRule["unit"], string>> = {
	seconds: "{{ $value | humanizeDuration }}",
	ratio: "{{ $value | humanizePercentage }}",
	count: '{{ $value | printf "%.3g" }}',
};

/** The summary as a template of Prometheus. */
function templateOf({ summary, unit }: AlertRule): string {
	return summary.replace(/\{(\w+)\}/g, (_, name: string) =>
		name === "value" ? VALUES[unit] : `{{ $labels.${name} }}`,
	);
}

/** Text of a rules file. */
export function rulesText(rules: readonly PrometheusRule[]): string {
	const group = {
		name: "sluice",
		rules: rules.map((rule) => ({
			alert: rule.name,
			expr: expressionOf(rule),
			for: `${rule.forSeconds}s`,
			labels: { severity: rule.severity },
			annotations: { summary: templateOf(rule), runbook: runbookOf(rule.name) },
		})),
	};
	return stringify({ groups: [group] }, { lineWidth: 0 });
}

function durationText(seconds: number): string {
	if (seconds === 0) return "at once";
	return seconds < 3600 ? `${seconds / 60} min` : `${seconds / 3600} h`;
}

/** Text of each file, by its path in the repository. */
export function ruleFiles(): [path: string, text: string][] {
	const index = table(
		["Alert", "Severity", "After", "Summary"],
		ALERT_RULES.map((rule) => [
			`[${rule.name}](${runbookOf(rule.name).replace("docs/runbooks/", "")})`,
			rule.severity,
			durationText(rule.forSeconds),
			rule.summary.replace(/\{(\w+)\}/g, (_, name: string) => `*${name}*`),
		]),
	);
	return [
		[
			"deploy/prometheus/rules.yaml",
			`# Made by npm run reference of src/modules/alerts/rules.ts.\n${rulesText(ALERT_RULES)}`,
		],
		[
			"docs/runbooks/README.md",
			`${HEAD}\n\n# Runbooks\n\nWhat to do when an alert fires, of [the service itself](../guides/alerts.md) or ` +
				"of [Prometheus](../guides/monitoring.md#alerts). " +
				"Each page begins with what to type; then come the causes, and what to do about each. " +
				"`critical`: jobs do not run, or are refused.\n\n" +
				`${index}\n`,
		],
	];
}
