/** The checker finds each planted bug in a history, and nothing in the same history without it. */
import { describe, expect, it } from "vitest";
import type { Op, Seen } from "../history.ts";
import { checker } from "./checker.ts";

const TERMS = { leaseMs: 10_000, retentionMs: { run: 60_000, runsync: 60_000 } };
const ENDED: Seen = {
	state: "COMPLETED",
	output: '"r1"',
	delayTime: 1,
	executionTime: 2,
};
const FAILED: Seen = { ...ENDED, state: "FAILED", error: "no", output: undefined! };
delete FAILED.output;

type Made = { [Key in Op["op"]]: Extract<Op, { op: Key }> };

/**
 * Operations of job j at the endpoint e, each 10 ms long, one after another, unless `at` says when
 * one was sent.
 */
function history() {
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
		endpoint: (members: Partial<Made["endpoint"]> = {}) =>
			add("endpoint", { id: "e", ...TERMS, ...members }),
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

function rulesOf({ ops }: { ops: readonly Op[] }): string[] {
	const checked = checker();
	for (const op of ops) checked.add(op);
	return [...new Set(checked.finish().map(({ rule }) => rule))];
}

const begun = () => history().endpoint().submit().take();
const ended = () => begun().report().read(ENDED);
const chunk = (text: string) => ({ by: "w1", take: 1, text });
const streamed = () =>
	begun().add("chunk", chunk("a")).add("chunk", chunk("b")).report().read(ENDED);
const webhook = (delivery: string, seen = ENDED) => ({ delivery, status: 200, seen });
const hooked = () => history().endpoint().submit({ webhook: true }).take().report().read(ENDED);
const failed = () => begun().report({ kind: "fail", text: "no" }).read(FAILED);
const TIMED_OUT: Seen = {
	state: "TIMED_OUT",
	error: "ran longer",
	delayTime: 0,
	executionTime: 6000,
};
const timed = () => history().endpoint().submit({ timeoutMs: 6000 }).take();
const idleHealth = (jobs: object) => ({
	idle: true,
	jobs: { completed: 1, failed: 0, inProgress: 0, inQueue: 0, retried: 0, ...jobs },
});
function queued(accepted: number) {
	const made = history().endpoint({ queue: { limit: 3, slack: 0 } });
	for (let n = 0; n < accepted; n += 1) made.submit({ n, job: `j${n}` });
	return made;
}
function cancelled(made: ReturnType<typeof queued>, jobs: number) {
	for (let n = 0; n < jobs; n += 1) made.add("cancel", { job: `j${n}`, state: "CANCELLED" });
	return made;
}

describe("histories without a bug", () => {
	it.each<[string, { ops: readonly Op[] }]>([
		["a job that completes", ended().close()],
		[
			"a retry of a failed one",
			failed().add("retry").take({ by: "w2" }).report({ by: "w2" }).read(ENDED).close(),
		],
		["a result read while it expires", ended().read(undefined, 60_000).close()],
		[
			"a submission without an answer whose job runs",
			history()
				.endpoint()
				.submit({ result: "unknown", job: undefined! })
				.take()
				.report()
				.read(ENDED)
				.close(),
		],
		[
			"a lost run",
			begun()
				.add("drop", { by: "w1", why: "crash" })
				.take({ by: "w2" })
				.report({ by: "w2" })
				.read(ENDED)
				.close(),
		],
		[
			"a late report of a lost run",
			begun()
				.add("drop", { by: "w1", why: "omitted" })
				.take({ by: "w2", at: 20_000 })
				.report({ text: '"late"' })
				.report({ by: "w2" })
				.read(ENDED)
				.close(),
		],
		["a timeout", timed().read(TIMED_OUT, 6100).close()],
		[
			"chunks",
			streamed()
				.add("events", {
					start: 0,
					chunks: [
						[0, "a"],
						[1, "b"],
					],
					seen: ENDED,
				})
				.add("stream", { next: 2, chunks: ["a", "b"] })
				.add("stream", { next: 2, chunks: [] })
				.close(),
		],
		[
			"a repeated post at another server",
			history()
				.endpoint({ repeats: true })
				.submit()
				.take()
				.add("chunk", { ...chunk("a"), result: "unknown" })
				.add("chunk", chunk("a"))
				.report()
				.read(ENDED)
				.add("events", {
					start: 0,
					chunks: [
						[0, "a"],
						[1, "a"],
					],
					seen: ENDED,
				})
				.close(),
		],
		[
			"webhooks, one twice",
			hooked().add("webhook", webhook("d1")).add("webhook", webhook("d1")).close(),
		],
		["a purge", history().endpoint().submit().add("purge", { removed: 1 }).read(undefined).close()],
		["counts", ended().close().add("health", idleHealth({}))],
		["a full queue", cancelled(queued(4).submit({ n: 9, job: undefined!, result: "fail" }), 4)],
	])("%s", (_, made) => expect(rulesOf(made)).toEqual([]));
});

describe("histories with one", () => {
	it.each<[string, string, { ops: readonly Op[] }]>([
		[
			"acknowledged-exists",
			"an acknowledged job is lost",
			history().endpoint().submit().read(undefined).close(),
		],
		["acknowledged-exists", "a result expires too early", ended().read(undefined, 30_000).close()],
		["ends", "a job never ends", begun().close()],
		[
			"final-once",
			"a second result replaces the first",
			ended()
				.report({ text: '"r2"' })
				.read({ ...ENDED, output: '"r2"' })
				.close(),
		],
		["final-once", "an ended job waits again", ended().read({ state: "IN_QUEUE" }).close()],
		[
			"output-of-one-attempt",
			"a result that nobody reported",
			begun()
				.report()
				.read({ ...ENDED, output: '"x"' })
				.close(),
		],
		[
			"output-of-one-attempt",
			"the result of before a retry",
			failed().add("retry").read(FAILED).close(),
		],
		[
			"acknowledged-result",
			"an acknowledged result is lost",
			begun()
				.report()
				.take({ by: "w2" })
				.report({ by: "w2", text: '"r2"' })
				.read({ ...ENDED, output: '"r2"' })
				.close(),
		],
		[
			"acknowledged-result",
			"a second report changes the result",
			begun()
				.report()
				.report({ text: '"r2"' })
				.read({ ...ENDED, output: '"r2"' })
				.close(),
		],
		[
			"one-attempt-at-a-time",
			"two workers get one job",
			begun().take({ by: "w2" }).report().read(ENDED).close(),
		],
		[
			"fence",
			"a worker gets its job again",
			begun().take({ at: 50_000 }).report().read(ENDED).close(),
		],
		["no-run-after-end", "an ended job is handed out", ended().take({ by: "w2" }).close()],
		["no-run-after-end", "a closed job is handed out", ended().close().take({ by: "w2" })],
		[
			"no-run-after-end",
			"a cancelled job is handed out",
			history()
				.endpoint()
				.submit()
				.add("cancel", { state: "CANCELLED" })
				.take()
				.read({ ...ENDED, state: "CANCELLED" })
				.close(),
		],
		[
			"input-unchanged",
			"a worker gets another input",
			history()
				.endpoint()
				.submit()
				.take({ jobs: [{ id: "j", n: 1, input: "x", take: 1 }] })
				.report()
				.read(ENDED)
				.close(),
		],
		[
			"one-job-per-request",
			"a key makes two jobs",
			history()
				.endpoint()
				.submit({ key: "k" })
				.submit({ key: "k", job: "j2" })
				.take()
				.take({ jobs: [{ id: "j2", n: 1, input: "i", take: 2 }] })
				.report()
				.report({ job: "j2" })
				.read(ENDED)
				.add("read", { job: "j2", how: "status", seen: ENDED })
				.close()
				.add("close", { job: "j2" }),
		],
		[
			"retry",
			"a completed job is retried",
			ended().add("retry").take({ by: "w2" }).report({ by: "w2" }).read(ENDED).close(),
		],
		["retry", "a failed job is not", failed().add("retry", { result: "fail" }).close()],
		[
			"cancel",
			"a job is cancelled by nobody",
			history()
				.endpoint()
				.submit()
				.read({ ...ENDED, state: "CANCELLED" })
				.close(),
		],
		[
			"cancel",
			"a cancelled job completes",
			begun().add("cancel", { state: "CANCELLED" }).report().read(ENDED).close(),
		],
		["deadlines", "a timeout that comes early", timed().read(TIMED_OUT, 3000).close()],
		[
			"deadlines",
			"a timeout with another time",
			timed()
				.read({ ...TIMED_OUT, executionTime: 7000 }, 8000)
				.close(),
		],
		[
			"deadlines",
			"a job outlives its timeout and ttl",
			history()
				.endpoint()
				.submit({ timeoutMs: 6000, ttlMs: 10_000 })
				.take()
				.read({ state: "IN_PROGRESS" }, 40_000)
				.read(TIMED_OUT, 41_000)
				.close(),
		],
		[
			"chunks",
			"an acknowledged chunk is missing",
			streamed()
				.add("events", { start: 0, chunks: [[0, "a"]], seen: ENDED })
				.close(),
		],
		[
			"chunks",
			"a chunk is there twice",
			streamed()
				.add("events", {
					start: 0,
					chunks: [
						[0, "a"],
						[1, "a"],
						[2, "b"],
					],
					seen: ENDED,
				})
				.close(),
		],
		[
			"chunks",
			"chunks are in another order",
			streamed()
				.add("events", {
					start: 0,
					chunks: [
						[0, "b"],
						[1, "a"],
					],
					seen: ENDED,
				})
				.close(),
		],
		[
			"chunks",
			"a number is used twice",
			streamed()
				.add("stream", { next: 1, chunks: ["b"] })
				.add("events", {
					start: 0,
					chunks: [
						[0, "a"],
						[1, "b"],
					],
					seen: ENDED,
				})
				.close(),
		],
		[
			"chunks",
			"the cursor skips a chunk",
			streamed()
				.add("events", {
					start: 0,
					chunks: [
						[0, "a"],
						[1, "b"],
					],
					seen: ENDED,
				})
				.add("stream", { next: 2, chunks: ["b"] })
				.close(),
		],
		[
			"chunks",
			"the cursor delivers twice",
			streamed()
				.add("stream", { next: 1, chunks: ["a"] })
				.add("stream", { next: 2, chunks: ["a", "b"] })
				.close(),
		],
		[
			"chunks",
			"a reader of events misses one",
			begun()
				.add("chunk", chunk("a"))
				.add("chunk", chunk("b"))
				.report()
				.add("events", { by: "c2", start: 0, chunks: [[1, "b"]], seen: ENDED })
				.add("events", {
					start: 0,
					chunks: [
						[0, "a"],
						[1, "b"],
					],
					seen: ENDED,
				})
				.close(),
		],
		["webhook-per-end", "an end has no delivery", hooked().close()],
		[
			"webhook-per-end",
			"an end has two deliveries",
			hooked().add("webhook", webhook("d1")).add("webhook", webhook("d2")).close(),
		],
		[
			"webhook-per-end",
			"a delivery says another state",
			hooked().add("webhook", webhook("d1", FAILED)).close(),
		],
		[
			"batch-size",
			"a worker gets more than it asked for",
			history().endpoint().submit().take({ size: 0 }).report().read(ENDED).close(),
		],
		[
			"workers-max",
			"too many workers live",
			history().endpoint({ workersMax: 2 }).add("launched", { alive: 3 }),
		],
		["queue-limit", "the queue grows beyond its limit", queued(5)],
		[
			"purge-count",
			"a purge counts what it did not remove",
			history().endpoint().submit().add("purge", { removed: 2 }).read(undefined).close(),
		],
		[
			"purge-count",
			"a purge removes what it does not count",
			history().endpoint().submit().add("purge", { removed: 0 }).read(undefined).close(),
		],
		[
			"health",
			"a job is counted twice",
			ended()
				.close()
				.add("health", idleHealth({ completed: 2 })),
		],
		[
			"health",
			"a job is counted as running for ever",
			ended()
				.close()
				.add("health", idleHealth({ inProgress: 1 })),
		],
		[
			"health",
			"a return is not counted",
			begun()
				.report()
				.read({ ...ENDED, retries: 1 })
				.close()
				.add("health", idleHealth({})),
		],
	])("%s: %s", (rule, _, made) => expect(rulesOf(made)).toContain(rule));

	it("each violation has the operations that show it", () => {
		const checked = checker();
		for (const op of begun()
			.report()
			.read({ ...ENDED, output: '"x"' })
			.close().ops)
			checked.add(op);
		const [violation] = checked.finish();
		expect(violation).toMatchObject({ job: "j", rule: "output-of-one-attempt" });
		expect(violation!.lines.map(({ op }) => op)).toEqual(["report", "read"]);
	});
});
