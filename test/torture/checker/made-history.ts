/** Histories of one job or a few, for tests of the checker. */
import type { Op, Seen } from "../history.ts";
import { checker } from "./checker.ts";

const TERMS = { leaseMs: 10_000, retentionMs: { run: 60_000, runsync: 60_000 } };
export const ENDED: Seen = {
	state: "COMPLETED",
	output: '"r1"',
	delayTime: 1,
	executionTime: 2,
};
/** The result of a second run. */
export const AGAIN: Seen = { ...ENDED, output: '"r2"', retries: 1 };
export const FAILED: Seen = { ...ENDED, state: "FAILED", error: "no", output: undefined! };
delete FAILED.output;

type Made = { [Key in Op["op"]]: Extract<Op, { op: Key }> };

/**
 * Operations of job j at the endpoint e, each 10 ms long, one after another, unless `at` says when
 * one was sent.
 */
export function history() {
	const ops: Op[] = [];
	let clock = 0;
	function add<K extends Op["op"]>(op: K, members: Partial<Made[K]> & { at?: number } = {}) {
		const { at, ...rest } = members as Partial<Made[K]> & { at?: number };
		clock = at ?? clock + 10;
		const from = clock;
		clock += 10;
		const common = { by: "c1", result: "ok", from, to: clock, endpoint: "e", job: "j" };
		ops.push({ op, ...common, ...rest } as unknown as Op);
		return self;
	}
	const self = {
		ops,
		add,
		endpoint: (members: Partial<Made["endpoint"]> = {}) => add("endpoint", { id: "e", ...TERMS, ...members }),
		submit: (members: Partial<Made["submit"]> & { at?: number } = {}) =>
			add("submit", {
				operation: "run",
				n: 1,
				input: "i",
				ttlMs: 86_400_000,
				timeoutMs: 600_000,
				...members,
			}),
		take: (members: Partial<Made["take"]> & { at?: number } = {}) =>
			add("take", {
				by: "w1",
				size: 4,
				idle: false,
				jobs: [{ id: "j", n: 1, input: "i", take: 1 }],
				...members,
			}),
		report: (members: Partial<Made["report"]> & { at?: number } = {}) =>
			add("report", { by: "w1", kind: "complete", text: '"r1"', ...members }),
		read: (seen: Seen | undefined, at?: number) =>
			add("read", {
				how: "status",
				...(seen ? { seen } : { missing: true as const }),
				...(at === undefined ? {} : { at }),
			}),
		close: () => add("close"),
	};
	return self;
}

export function rulesOf({ ops }: { ops: readonly Op[] }): string[] {
	const checked = checker();
	for (const op of ops) checked.add(op);
	return [...new Set(checked.finish().map(({ rule }) => rule))];
}

export const begun = () => history().endpoint().submit().take();
/** The worker gives no sign for longer than the lease. */
export const lost = () => begun().add("drop", { by: "w1", why: "omitted", at: 11_000 });
export const ended = () => begun().report().read(ENDED);
/** As a take names it. */
export const JOB = { id: "j", n: 1, input: "i", take: 1 };
export const returned = { by: "w1", take: 1, loss: false };
export const chunk = (text: string) => ({ by: "w1", take: 1, text });
export const streamed = () => begun().add("chunk", chunk("a")).add("chunk", chunk("b")).report().read(ENDED);
export const webhook = (delivery: string, seen = ENDED) => ({ delivery, status: 200, seen });
export const hooked = () => history().endpoint().submit({ webhook: true }).take().report().read(ENDED);
export const failed = () => begun().report({ kind: "fail", text: "no" }).read(FAILED);
export const TIMED_OUT: Seen = {
	state: "TIMED_OUT",
	error: "ran longer",
	delayTime: 0,
	executionTime: 6000,
};
export const timed = () => history().endpoint().submit({ timeoutMs: 6000 }).take();
export const idleHealth = (jobs: object) => ({
	idle: true,
	jobs: { completed: 1, failed: 0, inProgress: 0, inQueue: 0, retried: 0, ...jobs },
});
export function queued(accepted: number) {
	const made = history().endpoint({ queue: { limit: 3, slack: 0 } });
	for (let n = 0; n < accepted; n += 1) made.submit({ n, job: `j${n}` });
	return made;
}
export function cancelled(made: ReturnType<typeof queued>, jobs: number) {
	for (let n = 0; n < jobs; n += 1) made.add("cancel", { job: `j${n}`, state: "CANCELLED" });
	return made;
}
