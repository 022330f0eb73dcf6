/** The checker finds nothing in histories without a bug. */
import { describe, expect, it } from "vitest";
import type { Op } from "../history.ts";
import {
	AGAIN,
	ENDED,
	FAILED,
	JOB,
	returned,
	TIMED_OUT,
	history,
	rulesOf,
	queued,
	cancelled,
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
} from "./made-history.ts";

/** Another worker's take had no answer after the run was lost. */
const untold = () => lost().add("take", { by: "w2", size: 1, idle: true, result: "unknown", jobs: [], at: 15_000 });

describe("histories without a bug", () => {
	it.each<[string, { ops: readonly Op[] }]>([
		["a job that completes", ended().close()],
		["a retry of a failed one", failed().add("retry").take({ by: "w2" }).report({ by: "w2" }).read(ENDED).close()],
		["a result read while it expires", ended().read(undefined, 60_000).close()],
		[
			"a submission without an answer whose job runs",
			history().endpoint().submit({ result: "unknown", job: undefined! }).take().report().read(ENDED).close(),
		],
		[
			"a returned job that another worker completes",
			begun().add("return", returned).take({ by: "w2" }).report({ by: "w2" }).read(ENDED).close(),
		],
		[
			"a returned job that seems to run, since its claim had no answer from the store",
			begun()
				.add("return", returned)
				.add("fault", { what: "moved" })
				.read({ state: "IN_PROGRESS" })
				.take({ by: "w2", at: 20_000 })
				.report({ by: "w2" })
				.read({ ...ENDED, retries: 1 })
				.close(),
		],
		[
			"a job that its worker gets again after it returned it as a loss",
			begun()
				.add("return", { ...returned, loss: true })
				.read({ state: "IN_QUEUE" })
				.take()
				.report()
				.read({ ...ENDED, retries: 1 })
				.close(),
		],
		[
			"a job that fails because it was returned as a loss too often",
			begun()
				.add("return", { ...returned, loss: true })
				.take()
				.add("return", { ...returned, loss: true })
				.take()
				.add("return", { ...returned, loss: true })
				.read({ ...FAILED, error: "The job was lost 3 times and is not tried again", retries: 2 })
				.close(),
		],
		[
			"a returned job whose ttl passed while it ran",
			history()
				.endpoint()
				.submit({ ttlMs: 10_000 })
				.take()
				.add("ping", { by: "w1", named: ["j"], at: 8000 })
				.add("return", { ...returned, at: 15_000 })
				.read({ state: "TIMED_OUT", error: "waited longer than its ttl", delayTime: 15_000, executionTime: 0 })
				.close(),
		],
		[
			"runs with their numbers",
			history()
				.endpoint()
				.submit()
				.take({ jobs: [{ ...JOB, run: 1 }] })
				.report({ kind: "fail", text: "no" })
				.read(FAILED)
				.add("retry")
				.take({ by: "w2", jobs: [{ ...JOB, run: 2 }] })
				.report({ by: "w2" })
				.read({ ...ENDED, retries: 1 })
				.close(),
		],
		[
			"a lost run",
			begun().add("drop", { by: "w1", why: "crash" }).take({ by: "w2" }).report({ by: "w2" }).read(ENDED).close(),
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
		["a late report of a lost run that no other worker has", lost().report({ at: 30_000 }).read(ENDED).close()],
		[
			"a late report that counts after a take by another worker that had no answer",
			untold().report({ at: 20_000 }).read(ENDED).close(),
		],
		[
			"a late report that is dropped after a take that had no answer and may have been given the job",
			untold()
				.report({ at: 20_000 })
				.take({ by: "w3", at: 40_000 })
				.report({ by: "w3", text: '"r2"' })
				.read(AGAIN)
				.close(),
		],
		[
			"a late report of a lost run while a take is open that gets the job",
			lost()
				.add("report", { by: "w1", kind: "complete", text: '"late"', at: 30_000 })
				.add("take", {
					by: "w2",
					size: 1,
					idle: true,
					jobs: [{ id: "j", n: 1, input: "i", take: 2 }],
					from: 20_000,
					to: 30_050,
				})
				.report({ by: "w2", at: 30_060 })
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
			"chunks that a server reserved which is cut off",
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
				.add("fault", { what: "partition in both directions", from: 30, to: 50_000 })
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
		["webhooks, one twice", hooked().add("webhook", webhook("d1")).add("webhook", webhook("d1")).close()],
		[
			"a purge of a job that failed and was retried",
			failed()
				.add("retry")
				.add("purge", { removed: 1 })
				.read(undefined)
				.close()
				.add("health", idleHealth({ completed: 0, failed: 1, retried: 1 })),
		],
		["a purge", history().endpoint().submit().add("purge", { removed: 1 }).read(undefined).close()],
		["counts", ended().close().add("health", idleHealth({}))],
		[
			"counts of a job that was lost three times before any answer named it",
			ended()
				.close()
				.submit({ n: 2, result: "unknown", job: undefined! })
				.add("health", idleHealth({ failed: 1, retried: 2 })),
		],
		[
			"an answer of a server that was stopped for a minute",
			begun()
				.add("read", { how: "status", seen: { state: "IN_PROGRESS" }, to: 60_000 })
				.add("fault", { what: "SIGSTOP of a server", from: 30, to: 59_000 })
				.report({ at: 60_010 })
				.read(ENDED)
				.close(),
		],
		["a full queue", cancelled(queued(4).submit({ n: 9, job: undefined!, result: "fail" }), 4)],
	])("%s", (_, made) => expect(rulesOf(made)).toEqual([]));
});
