/** The rules on batches: each planted bug is found, and what may happen is none (D57). */
import { describe, expect, it } from "vitest";
import type { ResultLine, SeenBatch } from "../history.ts";
import { checker } from "./checker.ts";
import { history, rulesOf } from "./made-history.ts";

type Made = ReturnType<typeof history>;

const lines = [1, 2].map((n) => ({ n, input: "i" }));
const asked = (more: object = {}): Made =>
	history()
		.endpoint()
		.add("batch", { file: "f", lines, batch: "b", ...more });

const seen = (state: SeenBatch["state"], more: Partial<SeenBatch> = {}): SeenBatch => ({
	...{ state, total: 2, completed: 0, failed: 0, rest: "r" },
	...more,
});
const DONE = seen("completed", { completed: 1, failed: 1 });
const CANCELLED = seen("cancelled", { completed: 1, failed: 1 });
const FAILED = seen("failed", { total: 0 });

const answer: ResultLine = { id: "n-1", job: "j1", status: 200, text: '"r1"' };
const failure: ResultLine = { id: "n-2", job: "j2", status: 500, text: "{}" };
const cancelled: ResultLine = { id: "n-2", code: "batch_cancelled" };

const read = (made: Made, shown: SeenBatch | undefined, more: object = {}): Made =>
	made.add("batch-read", { batch: "b", how: "get", ...(shown ? { seen: shown } : { missing: true }), ...more });
const cancel = (made: Made): Made => read(made, seen("cancelling", { completed: 1 }), { how: "cancel" });
const files = (made: Made, output: ResultLine[], errors: ResultLine[], more: object = {}): Made =>
	made.add("batch-files", { batch: "b", output, errors, ...more });
const takes = (made: Made, n: number, more: object = {}): Made =>
	made.take({ jobs: [{ id: `j${n}`, n, input: "i", take: n, ...more }] });

/** A worker answers the first request and fails the second. */
const ran = (made = asked()): Made =>
	takes(takes(made, 1).report({ job: "j1" }), 2).report({ job: "j2", kind: "fail", text: "no" });
const ended = (made = ran()): Made => read(made, DONE);
const whole = (made = ended()): Made => files(made, [answer], [failure]);

/** Only the first request runs. */
const half = (made = asked()): Made => takes(made, 1).report({ job: "j1" });

describe("the checker finds", () => {
	it.each<[string, string, Made]>([
		["batch-exists", "an acknowledged batch that is missing", read(whole(), undefined)],
		["batch-exists", "one that is not in the list", read(whole(), undefined, { how: "list" })],
		["batch-exists", "a file that is missing", files(whole(), [], [], { missing: true })],
		[
			"batch-exists",
			"a batch that is refused, whose file was acknowledged",
			history().endpoint().add("batch", { file: "f", lines, result: "fail", error: "input_file_not_found" }),
		],
		["batch-ends", "a batch that never ends", asked()],
		["batch-ends", "files that cannot be read", ended()],
		[
			"batch-once",
			"a repeated request that makes a second batch",
			whole().add("batch", { file: "f", lines, batch: "c" }),
		],
		["batch-files", "a result that is written twice", files(ended(), [answer], [failure, failure])],
		["batch-files", "a request in both files", files(ended(), [answer], [{ ...failure, id: "n-1" }, failure])],
		["batch-files", "a request that is lost", files(read(ran(), seen("completed", { completed: 1 })), [answer], [])],
		["batch-files", "a request that no client sent", files(ended(), [answer], [{ ...failure, id: "n-3" }])],
		["batch-counts", "a lost attempt that is counted", files(read(ran(), { ...DONE, failed: 2 }), [answer], [failure])],
		["batch-counts", "another number of requests", whole(read(ran(), { ...DONE, total: 3 }))],
		["batch-order", "one that begins again", whole(ended(read(read(ran(), seen("finalizing")), seen("in_progress"))))],
		[
			"batch-order",
			"counts that go down",
			whole(ended(read(read(ran(), seen("in_progress", { completed: 1 })), seen("in_progress")))),
		],
		["batch-kept", "an ended batch that changes", read(whole(), { ...DONE, rest: "s" })],
		["batch-kept", "one that runs again", read(whole(), seen("in_progress"))],
		["batch-kept", "files that change", files(whole(), [failure], [answer])],
		["batch-answer", "an answer that no worker gave", files(ended(), [{ ...answer, text: '"r2"' }], [failure])],
		["batch-answer", "a failure that no worker reported", files(ended(takes(half(), 2)), [answer], [failure])],
		[
			"batch-answer",
			"answers that are exchanged",
			files(ended(), [{ ...answer, id: "n-2" }], [{ ...failure, id: "n-1" }]),
		],
		["batch-answer", "a request that is cancelled without a reason", files(ended(half()), [answer], [cancelled])],
		["batch-faults", "a file without a fault that fails", files(read(asked(), FAILED), [], [])],
		["batch-faults", "a file with a fault that runs", files(read(asked({ bad: true }), DONE), [answer], [failure])],
		["batch-faults", "a request of such a file that runs", files(read(half(asked({ bad: true })), FAILED), [], [])],
		["batch-cancel", "a batch that no client cancelled", files(read(half(), CANCELLED), [answer], [cancelled])],
		[
			"batch-cancel",
			"a request that runs after the end",
			takes(files(read(cancel(half()), CANCELLED), [answer], [cancelled]), 2),
		],
		["one-job-per-request", "two jobs of one request", whole(ended(takes(ran(), 1, { id: "j3" })))],
		["input-unchanged", "a request that is handed out otherwise", whole(ended(takes(half(), 2, { input: "x" })))],
	])("%s: %s", (rule, _, made) => expect(rulesOf(made)).toContain(rule));
});

const unknown = { result: "unknown" as const };

describe("the checker takes for right", () => {
	it.each<[string, Made]>([
		["a batch whose requests are answered and fail", whole()],
		["an end that is read again", files(read(read(whole(), DONE), DONE, { how: "list" }), [answer], [failure])],
		[
			"a repeat without an answer before",
			whole(ended(ran(asked({ batch: undefined!, ...unknown }).add("batch", { file: "f", lines, batch: "b" })))),
		],
		[
			"counts of two reads at once",
			whole(
				ended(read(read(ran(), seen("in_progress", { completed: 1 }), { at: 500 }), seen("in_progress"), { at: 505 })),
			),
		],
		["a cancelled batch", files(read(cancel(half()), CANCELLED), [answer], [cancelled])],
		["one that is cancelled after its last request", whole(ended(cancel(ran())))],
		["a request that was purged", files(ended(half().add("purge", { removed: 1 })), [answer], [cancelled])],
		["a file with a fault", files(read(read(asked({ bad: true }), seen("validating", { total: 0 })), FAILED), [], [])],
		[
			"a request whose runs were lost",
			files(ended(takes(half(), 2).add("drop", { job: "j2", by: "w1", why: "crash" })), [answer], [failure]),
		],
		[
			"one of which no worker heard, in a fault",
			files(ended(half().add("fault", { what: "a kill" })), [answer], [failure]),
		],
	])("%s", (_, made) => expect(rulesOf(made)).toEqual([]));
});

it("counts the jobs of batches", () => {
	const health = (made: Made, completed: number, failed: number) =>
		rulesOf(
			made
				.add("close", { job: "j1" })
				.add("close", { job: "j2" })
				.add("health", {
					...{ idle: true, jobs: { completed, failed, inProgress: 0, inQueue: 0, retried: 0 } },
				}),
		);
	expect(health(whole(), 1, 1)).toEqual([]);
	expect(health(whole(), 2, 1)).toEqual(["health"]);
	const purged = (removed: number) => rulesOf(files(ended(half().add("purge", { removed })), [answer], [cancelled]));
	expect([purged(0), purged(2)]).toEqual([["purge-count"], ["purge-count"]]);
});

it("forgets batches that are over", () => {
	const checked = checker();
	for (const op of whole().ops) checked.add(op);
	for (const op of history().add("close", { job: "j1" }).add("close", { job: "j2" }).ops) checked.add(op);
	expect(checked.held).toBeGreaterThan(0);
	checked.forget(1_000_000);
	expect([checked.held, checked.counts.batches]).toEqual([0, { completed: 1 }]);
	expect(checked.finish()).toEqual([]);
});
