/**
 * Prometheus scrapes busy servers: each panel of the dashboards and each alert rule has series, and Alertmanager
 * sends the alert of a fault, and its end (D40).
 */
import { describe, expect, it, type TestContext } from "vitest";
import { DASHBOARDS } from "../../scripts/monitoring/panels.ts";
import { ALERT_RULES, type PrometheusRule } from "../../scripts/monitoring/alert-rules.ts";
import { folder, KEY } from "../support/service.ts";
import { until } from "../support/until.ts";
import { webhookReceiver } from "../support/webhook-receiver.ts";
import { type Fault, monitoringSite } from "./monitoring-site.ts";
import { noPrometheus, type Prometheus, startPrometheus, titled } from "./prometheus.ts";

/** In place of minutes and hours, and at most as bounds of waits and of what waits. */
const RANGE = "5s";
const SECONDS = 2;
const COUNT = 20;

/** The rule with ranges, pauses and bounds for a test. */
function quick(rule: PrometheusRule): PrometheusRule {
	return {
		...rule,
		value: rule.value.replace(/(?<=\[)\w+(?=\])/g, RANGE),
		threshold: Math.min(rule.threshold, rule.unit === "seconds" ? SECONDS : COUNT),
		forSeconds: Math.min(rule.forSeconds, 1),
	};
}

const RULES = ALERT_RULES.map(quick);

/** What must have series, by what needs it. */
const QUERIES: readonly (readonly [title: string, query: string])[] = [
	...DASHBOARDS.flatMap(({ id, panels }) =>
		panels.map(({ title, query }): [string, string] => [
			`${id}: ${title}`,
			query.replaceAll("$__rate_interval", RANGE).replaceAll(/\$(?:endpoint|instance)/g, ".*"),
		]),
	),
	...RULES.map(({ name, value }): [string, string] => [name, value]),
];

interface Alert {
	status: "firing" | "resolved";
	labels: Record<string, string>;
	annotations: Record<string, string>;
}

describe.skipIf(noPrometheus !== undefined)(titled("Prometheus and Alertmanager"), () => {
	it("D40: panels and rules have series; faults raise alerts, repairs resolve them", {
		timeout: 240_000,
	}, async (test) => {
		const place = await monitoringSite(test);
		const { prometheus, alerts } = await monitor(test, place.targets);

		for (const [group, faults] of place.faults.entries()) {
			const before = alerts().length;
			for (const { begin } of faults) await begin();
			if (group === 0) await expectSeries(prometheus);
			// A server whose disk is slow answers some scrapes too late: its other alerts end and come back meanwhile.
			for (const fault of faults)
				await until(`${fault.alert} has fired`, () => about(alerts().slice(before), fault).includes("firing"));
			for (const { repair } of faults) await repair();
			for (const fault of faults)
				await until(`${fault.alert} is resolved`, () => about(alerts(), fault).at(-1) === "resolved");
		}
		for (const { annotations } of alerts())
			expect(annotations["summary"], "a label or value that the template lacks").not.toMatch(/<|\{|  |\(\)/);
	});
});

async function monitor(
	{ onTestFinished }: TestContext,
	targets: readonly string[],
): Promise<{ prometheus: Prometheus; alerts: () => Alert[] }> {
	const room = folder();
	onTestFinished(() => room.remove());
	const receiver = await webhookReceiver();
	onTestFinished(receiver.end);
	const prometheus = await startPrometheus({
		folder: room.path,
		targets,
		key: KEY,
		rules: RULES,
		receiver: receiver.url,
	});
	onTestFinished(prometheus.end);
	return {
		prometheus,
		alerts: () => receiver.received.flatMap(({ body }) => JSON.parse(body.toString()).alerts as Alert[]),
	};
}

/** Each query has had a series. */
async function expectSeries(prometheus: Prometheus): Promise<void> {
	const lacking = new Map(QUERIES);
	const all = async (): Promise<boolean> => {
		for (const [title, query] of lacking) if ((await prometheus.query(query)).length > 0) lacking.delete(title);
		return lacking.size === 0;
	};
	await until("series of all queries", all).catch(() => expect([...lacking.keys()]).toEqual([]));
}

/** What Alertmanager has sent about the fault, in its order. */
function about(alerts: readonly Alert[], { alert, labels }: Fault): Alert["status"][] {
	const isOf = (each: Alert): boolean =>
		each.labels["alertname"] === alert && Object.entries(labels).every(([name, value]) => each.labels[name] === value);
	return alerts.filter(isOf).map(({ status }) => status);
}
