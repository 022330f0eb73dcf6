/** Alerts that fire, and silences (D53): one document in the store, and the functions that change it. */
import { type AlertName, runbookOf, ruleOf, summaryOf } from "./rules.ts";

export type Labels = Readonly<Record<string, string>>;

/** Times of the job clock. */
export interface Alert {
	name: AlertName;
	/** Labels that distinguish the alerts of a rule. */
	labels: Labels;
	value: number;
	/** When it fired. */
	since: number;
	/** When the last message about it was due. */
	notifiedAt?: number | undefined;
	/** Kept until its message was sent. */
	resolvedAt?: number | undefined;
	/** Receivers that have not accepted the last message yet. */
	owed: readonly string[];
}

export interface Silence {
	name: AlertName;
	/** Endpoint of the silenced alerts; absent: all endpoints and servers. */
	endpoint?: string | undefined;
	until: number;
	comment?: string | undefined;
}

export interface AlertState {
	alerts: readonly Alert[];
	silences: readonly Silence[];
}

export const NO_ALERTS: AlertState = { alerts: [], silences: [] };

/** Maximum number of recorded alerts. */
const MOST_ALERTS = 500;

export const MOST_SILENCES = 100;

/** Age of a message that is given up, ms. */
const GIVE_UP_MS = 6 * 3_600_000;

export function keyOf({ name, labels }: Pick<Alert, "name" | "labels">): string {
	return JSON.stringify([name, labels]);
}

export function silenceOf({ silences }: AlertState, { name, labels }: Alert, now: number): Silence | undefined {
	return silences.find(
		(each) =>
			each.name === name && each.until > now && (each.endpoint === undefined || each.endpoint === labels["endpoint"]),
	);
}

export interface Evaluation {
	now: number;
	/** Whether the caller evaluates the rule of the alert. */
	owns: (alert: Alert) => boolean;
	/** Conditions that hold, by {@link keyOf}. `fires`: the condition has held for as long as the rule requires. */
	active: ReadonlyMap<string, Pick<Alert, "name" | "labels" | "value"> & { fires: boolean }>;
	/** Whether the rule has no value yet, so the alert cannot be resolved. */
	unknown: (alert: Alert) => boolean;
	receivers: readonly string[];
	repeatMs: number;
}

/** An alert that fires lasts until its condition does not hold. */
export function evaluated(state: AlertState, q: Evaluation): AlertState {
	const { now, active, owns } = q;
	const silences = state.silences.filter(({ until }) => until > now);
	const others = state.alerts.filter((alert) => !owns(alert));
	const owned = new Map(state.alerts.filter(owns).map((alert) => [keyOf(alert), alert]));
	for (const [key, { fires, ...condition }] of active) {
		const before = owned.get(key);
		if (before && before.resolvedAt === undefined) owned.set(key, { ...before, value: condition.value });
		else if (fires) owned.set(key, { ...condition, since: now, owed: [] });
	}
	for (const [key, alert] of owned)
		if (alert.resolvedAt === undefined && !active.has(key) && !q.unknown(alert))
			owned.set(key, { ...alert, resolvedAt: now });
	const alerts = [...owned.values()]
		.map((alert) => withMessage(alert, silenceOf(state, alert, now) !== undefined, q))
		.filter(({ resolvedAt, owed }) => resolvedAt === undefined || owed.length > 0);
	return { silences, alerts: [...others, ...alerts].slice(0, MOST_ALERTS) };
}

/** An alert of which no receiver was notified resolves silently. */
function withMessage(alert: Alert, silenced: boolean, { now, receivers, repeatMs }: Evaluation): Alert {
	const { notifiedAt, resolvedAt } = alert;
	const owed = alert.owed.filter((each) => receivers.includes(each));
	// The message after the silence counts as the first one.
	if (silenced) return { ...alert, notifiedAt: undefined, owed: [] };
	if (resolvedAt === now) return { ...alert, owed: notifiedAt === undefined ? [] : receivers };
	if (resolvedAt === undefined && (notifiedAt === undefined || now - notifiedAt >= repeatMs))
		return { ...alert, notifiedAt: now, owed: receivers };
	return { ...alert, owed: now - (resolvedAt ?? notifiedAt ?? now) > GIVE_UP_MS ? [] : owed };
}

/** Records that a receiver accepted a message. A later message about one of these alerts is still owed to it. */
export function sent(state: AlertState, receiver: string, message: readonly Alert[]): AlertState {
	const had = new Map(message.map((alert) => [keyOf(alert), alert]));
	const alerts = state.alerts.map((alert) => {
		const last = had.get(keyOf(alert));
		const same = last && last.notifiedAt === alert.notifiedAt && last.resolvedAt === alert.resolvedAt;
		return same ? { ...alert, owed: alert.owed.filter((each) => each !== receiver) } : alert;
	});
	return { ...state, alerts: alerts.filter(({ resolvedAt, owed }) => resolvedAt === undefined || owed.length > 0) };
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
