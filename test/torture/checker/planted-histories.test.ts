/** The checker finds each bug that is planted in a history. */
import { describe, expect, it } from "vitest";
import type { Op } from "../history.ts";
import { checker } from "./checker.ts";
import {
	AGAIN,
	ENDED,
	FAILED,
	TIMED_OUT,
	history,
	rulesOf,
	queued,
	begun,
	lost,
	ended,
	chunk,
	streamed,
	webhook,
	hooked,
	failed,
	timed,
	idleHealth,
	JOB,
	returned,
} from "./made-history.ts";

describe("histories with one", () => {
	it.each<[string, string, { ops: readonly Op[] }]>([
		["acknowledged-exists", "an acknowledged job is lost", history().endpoint().submit().read(undefined).close()],
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
			"a result without a report",
			begun()
				.report()
				.read({ ...ENDED, output: '"x"' })
				.close(),
		],
		["output-of-one-attempt", "the result of before a retry", failed().add("retry").read(FAILED).close()],
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
			"late-result",
			"the result of a lost run is thrown away, and the job handed out again",
			lost().report({ at: 30_000 }).take({ idle: true }).report({ text: '"r2"' }).read(AGAIN).close(),
		],
		[
			"late-result",
			"the failure of a lost run is thrown away",
			lost().report({ at: 30_000, kind: "fail", text: "no" }).read({ state: "IN_QUEUE" }).close(),
		],
		[
			"fence",
			"the result of a lost run ends a job that another worker has",
			lost().take({ by: "w2", at: 15_000 }).report({ at: 16_000 }).read(ENDED).close(),
		],
		["return", "a returned job still runs", begun().add("return", returned).read({ state: "IN_PROGRESS" }).close()],
		[
			"return",
			"a return counts as a loss that is none",
			begun()
				.add("return", returned)
				.take({ by: "w2" })
				.report({ by: "w2" })
				.read({ ...ENDED, retries: 1 })
				.close(),
		],
		[
			"return",
			"a return as a loss does not count",
			begun()
				.add("return", { ...returned, loss: true })
				.take({ by: "w2" })
				.report({ by: "w2" })
				.read(ENDED)
				.close(),
		],
		[
			"output-of-one-attempt",
			"a returned job completes without output",
			begun()
				.add("return", returned)
				.read({ ...ENDED, output: undefined! })
				.close(),
		],
		[
			"late-result",
			"a job is handed out again by a return that follows its result",
			begun().report().add("return", returned).take({ by: "w2" }).read(ENDED).close(),
		],
		[
			"run-number",
			"the first run is the second",
			history()
				.endpoint()
				.submit()
				.take({ jobs: [{ ...JOB, run: 2 }] })
				.close(),
		],
		[
			"run-number",
			"a retry does not begin a run",
			failed()
				.add("retry")
				.take({ by: "w2", jobs: [{ ...JOB, run: 1 }] })
				.close(),
		],
		["one-attempt-at-a-time", "two workers get one job", begun().take({ by: "w2" }).report().read(ENDED).close()],
		["fence", "a worker gets its job again", begun().take({ at: 50_000 }).report().read(ENDED).close()],
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
			"a job is cancelled without a request",
			history()
				.endpoint()
				.submit()
				.read({ ...ENDED, state: "CANCELLED" })
				.close(),
		],
		["cancel", "a cancelled job completes", begun().add("cancel", { state: "CANCELLED" }).report().read(ENDED).close()],
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
			"the last chunks are not delivered",
			streamed()
				.add("events", {
					start: 0,
					chunks: [
						[0, "a"],
						[1, "b"],
					],
					seen: ENDED,
				})
				.add("stream", { next: 0, chunks: [] })
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
		["webhook-per-end", "a delivery says another state", hooked().add("webhook", webhook("d1", FAILED)).close()],
		[
			"batch-size",
			"a worker gets more than it asked for",
			history().endpoint().submit().take({ size: 0 }).report().read(ENDED).close(),
		],
		["workers-max", "too many workers live", history().endpoint({ workersMax: 2 }).add("launched", { alive: 3 })],
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
			"a job is counted as running without end",
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
		[
			"answers",
			"an answer takes a minute in a partition",
			begun()
				.add("read", { how: "status", seen: { state: "IN_PROGRESS" }, to: 60_000 })
				.add("fault", { what: "partition to the database", from: 30, to: 50_000 })
				.report({ at: 60_010 })
				.read(ENDED)
				.close(),
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
