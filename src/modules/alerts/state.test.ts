/** When alerts fire, last, are repeated, silenced and resolved, and who is owed a message (D53). */
import { expect, it } from "vitest";
import type { AlertName } from "./rules.ts";
import { type AlertState, type Evaluation, evaluated, keyOf, NO_ALERTS, sent } from "./state.ts";

const MINUTE = 60_000;
const labels = { endpoint: "e" };
const name: AlertName = "SluiceCrashLoop";
const key = keyOf({ name, labels });

/** `fires`: undefined where the condition does not hold. */
function step(state: AlertState, now: number, fires?: boolean, q: Partial<Evaluation> = {}): AlertState {
	return evaluated(state, {
		now,
		owns: () => true,
		active: new Map(fires === undefined ? [] : [[key, { name, labels, value: 1, fires }]]),
		unknown: () => false,
		receivers: ["a", "b"],
		repeatMs: 10 * MINUTE,
		...q,
	});
}

const owed = (state: AlertState) => state.alerts.map((alert) => alert.owed);
/** The state once this receiver, or both, have the message. */
const had = (state: AlertState, ...names: string[]): AlertState =>
	names.reduce((rest, each) => sent(rest, each, state.alerts), state);

it("D53: one message when it fires, one each `repeatEvery` while it lasts, one when it is resolved", () => {
	expect(step(NO_ALERTS, 0, false)).toEqual(NO_ALERTS);
	const fired = step(NO_ALERTS, 1, true);
	expect(fired.alerts).toEqual([{ name, labels, value: 1, since: 1, notifiedAt: 1, owed: ["a", "b"] }]);
	expect(owed(had(fired, "a"))).toEqual([["b"]]);
	const known = had(fired, "a", "b");
	// Its condition holds again, not for long enough to fire again: it lasts.
	expect(owed(step(known, 9 * MINUTE, false))).toEqual([[]]);
	expect(owed(step(known, 10 * MINUTE + 1, true))).toEqual([["a", "b"]]);
	const resolved = step(known, 9 * MINUTE);
	expect(resolved.alerts).toMatchObject([{ since: 1, resolvedAt: 9 * MINUTE, owed: ["a", "b"] }]);
	expect(had(resolved, "a", "b")).toEqual(NO_ALERTS);
	expect(step(resolved, 9 * MINUTE + 1, true).alerts).toMatchObject([{ since: 9 * MINUTE + 1 }]);
});

it("D53: its end is sent to all receivers, also if they have not got it; a message is given up after 6 hours", () => {
	const fired = step(NO_ALERTS, 1, true);
	// Who had the first message and not its repetition would take it for one that lasts.
	const repeated = had(step(had(fired, "a", "b"), 11 * MINUTE, true), "a");
	expect(owed(repeated)).toEqual([["b"]]);
	expect(owed(step(repeated, 12 * MINUTE))).toEqual([["a", "b"]]);
	expect(owed(step(fired, 2))).toEqual([["a", "b"]]);
	const late = { repeatMs: Infinity };
	expect(owed(step(fired, 360 * MINUTE, true, late))).toEqual([["a", "b"]]);
	expect(owed(step(fired, 360 * MINUTE + 2, true, late))).toEqual([[]]);
	expect(owed(step(fired, 2, true, { receivers: ["b", "c"] }))).toEqual([["b"]]);
	// The message of the first firing does not count for a later one.
	expect(owed(sent(step(fired, 11 * MINUTE, true), "a", fired.alerts))).toEqual([["a", "b"]]);
});

it("D53: a silenced alert is recorded without messages, and sent when the silence ends", () => {
	const silences = [{ name, endpoint: "e", until: 5 }];
	const silent = step({ alerts: [], silences }, 1, true);
	expect(owed(silent)).toEqual([[]]);
	expect(owed(step(silent, 5, true))).toEqual([["a", "b"]]);
	expect(step(silent, 2).alerts).toEqual([]);
	// Also one that was sent before, of which the silence may have held back a repetition.
	const known = had(step(NO_ALERTS, 0, true), "a", "b");
	expect(owed(step(step({ ...known, silences }, 1, true), 5, true))).toEqual([["a", "b"]]);
	for (const other of [
		{ name, endpoint: "f", until: 5 },
		{ name: "SluiceSwaps" as const, until: 5 },
	])
		expect(owed(step({ alerts: [], silences: [other] }, 1, true))).toEqual([["a", "b"]]);
});

it("D53: what is unknown lasts, alerts of other servers stay, and at most 500 are recorded", () => {
	const fired = had(step(NO_ALERTS, 1, true), "a", "b");
	expect(step(fired, 2, undefined, { unknown: () => true })).toEqual(fired);
	expect(step(fired, 2, undefined, { owns: () => false })).toEqual(fired);
	const many = Array.from({ length: 600 }, (_, n) => {
		const condition = { name, labels: { endpoint: `e${n}` }, value: 1, fires: true };
		return [keyOf(condition), condition] as const;
	});
	expect(step(NO_ALERTS, 1, true, { active: new Map(many) }).alerts).toHaveLength(500);
});
