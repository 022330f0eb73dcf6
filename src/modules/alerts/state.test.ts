/** When alerts fire, last, are repeated, silenced and resolved, and what receivers are due (D53). */
import { beforeEach, expect, it } from "vitest";
import type { AlertName } from "./rules.ts";
import { type Alert, dueTo, evaluate, type Evaluation, type Firing, keyOf, type Sent } from "./state.ts";

const MINUTE = 60_000;
const labels = { endpoint: "e" };
const name: AlertName = "SluiceCrashLoop";
const key = keyOf({ name, labels });

let firing: Firing;
let sent: Sent;
beforeEach(() => {
	firing = new Map();
	sent = new Map();
});

/** `fires`: undefined where the condition does not hold. */
function step(now: number, fires?: boolean, q: Partial<Evaluation> = {}): ReturnType<typeof evaluate> {
	return evaluate(firing, {
		now,
		active: new Map(fires === undefined ? [] : [[key, { name, labels, value: 1, fires }]]),
		isMeasured: () => true,
		isElsewhere: () => false,
		...q,
	});
}

/** The states of the alerts that a receiver is due. */
function due(now: number, silenced = false): string[] {
	const all = dueTo(sent, firing, { now, repeatMs: 10 * MINUTE, isSilenced: () => silenced });
	return all.map(({ resolvedAt }) => (resolvedAt === undefined ? "firing" : "resolved"));
}

/** The receiver got a message that it fires; `at` if it accepted it. */
function tried(at?: number): void {
	for (const [each, alert] of firing) sent.set(each, { alert, at });
}

it("D53: one message when it fires, one each `repeatEvery` while it lasts, one when it is resolved", () => {
	expect(step(0, false)).toEqual({ fired: [], resolved: [] });
	const alert: Alert = { name, labels, value: 1, since: 1 };
	expect(step(1, true)).toEqual({ fired: [alert], resolved: [] });
	expect(due(1)).toEqual(["firing"]);
	tried(1);
	// Its condition holds again, not for long enough to fire again: it lasts.
	expect(step(9 * MINUTE, false)).toEqual({ fired: [], resolved: [] });
	expect(due(10 * MINUTE)).toEqual([]);
	expect(due(10 * MINUTE + 1)).toEqual(["firing"]);
	expect(step(11 * MINUTE)).toEqual({ fired: [], resolved: [{ ...alert, resolvedAt: 11 * MINUTE }] });
	expect(due(11 * MINUTE)).toEqual(["resolved"]);
	// One that fires again takes the place of the message of its end.
	step(12 * MINUTE, true);
	expect(due(12 * MINUTE)).toEqual(["firing"]);
	expect(sent.size).toBe(0);
});

it("D53: its end is due after any try to send it, and is given up after 6 hours", () => {
	step(1, true);
	step(2);
	expect(due(2), "never tried").toEqual([]);
	step(3, true);
	tried();
	expect(due(4), "not accepted").toEqual(["firing"]);
	step(5);
	expect(due(5 + 360 * MINUTE)).toEqual(["resolved"]);
	expect(due(6 + 360 * MINUTE)).toEqual([]);
});

it("D53: a silenced alert fires without messages, and is sent when the silence ends", () => {
	step(1, true);
	expect(due(1, true)).toEqual([]);
	expect(due(2)).toEqual(["firing"]);
	tried(2);
	// Also one that was sent before, of which the silence may have held back a repetition.
	expect(due(3, true)).toEqual([]);
	expect(due(4)).toEqual(["firing"]);
	tried(4);
	step(5);
	expect(due(5, true)).toEqual([]);
	expect(due(6), "resolved while it was silenced").toEqual([]);
});

it("D53: what is unknown lasts, what another server evaluates now ends without a message, and 500 fire at most", () => {
	step(1, true);
	tried(1);
	expect(step(2, undefined, { isMeasured: () => false })).toEqual({ fired: [], resolved: [] });
	expect(firing.size).toBe(1);
	expect(step(3, undefined, { isMeasured: () => false, isElsewhere: () => true })).toEqual({ fired: [], resolved: [] });
	expect(firing.size).toBe(0);
	expect(due(3)).toEqual([]);
	const many = Array.from({ length: 600 }, (_, n) => {
		const condition = { name, labels: { endpoint: `e${n}` }, value: 1, fires: true };
		return [keyOf(condition), condition] as const;
	});
	expect(step(4, true, { active: new Map(many) }).fired).toHaveLength(500);
});
