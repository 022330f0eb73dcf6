/** Decides which alerts fire at this server, and which of them a receiver is sent (D53). All of it is in memory. */
import { type AlertName, runbookOf, ruleOf, summaryOf } from "./rules.ts";
import type { Silence } from "./silence.ts";

export type Labels = Readonly<Record<string, string>>;

interface Condition {
	name: AlertName;
	/** Labels that distinguish the alerts of a rule. */
	labels: Labels;
	value: number;
}

/** Times of the job clock. */
export interface Alert extends Condition {
	/** When it fired. */
	since: number;
	/** Absent while it fires. */
	resolvedAt?: number | undefined;
}

/** Alerts by {@link keyOf}. */
export type Firing = Map<string, Alert>;

/** Maximum number of alerts that fire at a time. */
const MOST_ALERTS = 500;

/** Time for which the message about the end of an alert is repeated, ms. */
const GIVE_UP_MS = 6 * 3_600_000;

export function keyOf({ name, labels }: Pick<Alert, "name" | "labels">): string {
	return JSON.stringify([name, labels]);
}

/** Returns the silence that suppresses messages about the alert. */
export function silenceOf(silences: readonly Silence[], { name, labels }: Alert, now: number): Silence | undefined {
	return silences.find(
		(each) =>
			each.name === name && each.until > now && (each.endpoint === undefined || each.endpoint === labels["endpoint"]),
	);
}

export interface Evaluation {
	now: number;
	/** Conditions that hold, by {@link keyOf}. `fires`: the condition has held for as long as the rule requires. */
	active: ReadonlyMap<string, Condition & { fires: boolean }>;
	/** Whether the rule has values: without them its alerts cannot be resolved. */
	isMeasured: (name: AlertName) => boolean;
	/** Whether another server evaluates the rule, and reports its alerts. */
	isElsewhere: (name: AlertName) => boolean;
}

/** Changes `firing`; an alert lasts until its condition is known not to hold. Returns the changes. */
export function evaluate(firing: Firing, q: Evaluation): { fired: Alert[]; resolved: Alert[] } {
	const [fired, resolved]: [Alert[], Alert[]] = [[], []];
	for (const [key, alert] of firing) {
		const condition = q.active.get(key);
		if (condition) alert.value = condition.value;
		else if (q.isElsewhere(alert.name)) firing.delete(key);
		else if (q.isMeasured(alert.name)) {
			firing.delete(key);
			alert.resolvedAt = q.now;
			resolved.push(alert);
		}
	}
	for (const [key, { fires, ...condition }] of q.active) {
		if (!fires || firing.has(key) || firing.size >= MOST_ALERTS) continue;
		const alert: Alert = { ...condition, since: q.now };
		firing.set(key, alert);
		fired.push(alert);
	}
	return { fired, resolved };
}

/** Alerts that a receiver was sent, by {@link keyOf}. `at`: when it last accepted a message that the alert fires. */
export type Sent = Map<string, { alert: Alert; at: number | undefined }>;

export interface Due {
	now: number;
	/** Time between two messages about an alert that lasts, ms. */
	repeatMs: number;
	isSilenced: (alert: Alert) => boolean;
}

/** Returns the alerts of the next message to a receiver; forgets sent ones that need no further message. */
export function dueTo(sent: Sent, firing: Firing, { now, repeatMs, isSilenced }: Due): Alert[] {
	for (const [key, { alert }] of sent) {
		const { resolvedAt } = alert;
		const last = firing.get(key);
		const isOver = resolvedAt === undefined || last ? last !== alert : now - resolvedAt > GIVE_UP_MS;
		// The message after the silence counts as the first one.
		if (isOver || isSilenced(alert)) sent.delete(key);
	}
	const ended = [...sent.values()].flatMap(({ alert }) => (alert.resolvedAt === undefined ? [] : [alert]));
	const unsent = [...firing].flatMap(([key, alert]) => {
		const { at = -Infinity } = sent.get(key) ?? {};
		return isSilenced(alert) || now - at < repeatMs ? [] : [alert];
	});
	return [...unsent, ...ended];
}

/** Returns an alert as clients see it. `url`: address of the service, which has the runbooks. `iso`: formats a time. */
export function alertView(
	{ name, labels, value, since, resolvedAt }: Alert,
	{ url, iso }: { url: string; iso: (at: number) => string },
) {
	return {
		name,
		status: resolvedAt === undefined ? ("firing" as const) : ("resolved" as const),
		severity: ruleOf(name).severity,
		labels,
		value,
		summary: summaryOf(name, labels, value),
		since: iso(since),
		...(resolvedAt !== undefined && { resolvedAt: iso(resolvedAt) }),
		runbook: `${url}/${runbookOf(name).replace(/\.md$/, "/")}`,
	};
}
