import { beforeEach, expect, it, vi } from "vitest";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import { eventBus } from "../../../kernel/events.ts";
import { type JobReader, printEvents } from "./log-lines.ts";

const [endpoint, worker] = ["ep", "w"] as const;

beforeEach(() => void vi.stubEnv("FORCE_COLOR", "0"));

/** Prints into a list; `read` replaces reads of a service that has no chunks and no results. */
function printer(read: Partial<JobReader> = {}) {
	const events = eventBus();
	const clock = manualClock();
	const lines: string[] = [];
	const { unfinished } = printEvents({
		events,
		clock,
		verbose: false,
		print: (line) => lines.push(line),
		read: {
			result: async () => ({}),
			chunks: async (_, { from }) => ({ chunks: [], next: from, over: true }),
			...read,
		},
	});
	return {
		lines,
		clock,
		events,
		unfinished,
		queued: (id: string) => events.emit("job.queued", { endpoint, id }),
		started: (id: string) => events.emit("job.started", { endpoint, id, worker, attempt: 1, waitedMs: 0 }),
		settled: (id: string, state: "COMPLETED" | "FAILED" = "COMPLETED") =>
			events.emit("job.settled", { endpoint, id, state }),
		returned: (id: string) => events.emit("job.returned", { endpoint, id, worker, why: "lost" }),
	};
}

it("D36: a job is printed as queued before it is printed as started, once, in any order of events", async () => {
	const q = printer();
	// Of one commit: a worker that gets a job is answered first.
	q.started("a");
	q.queued("a");
	q.queued("b");
	q.started("b");
	q.returned("b");
	q.started("b");
	q.settled("a");
	await vi.waitFor(() => expect(q.lines.at(-1)).toBe("job …a done in 0 ms"));
	q.queued("a");
	q.started("a");
	expect(q.lines).toEqual([
		"job a queued",
		"job …a started",
		"job b queued",
		"job …b started",
		"job …b requeued",
		"job …b started",
		"job …a done in 0 ms",
		"job a queued",
		"job …a started",
	]);
	expect(q.unfinished()).toEqual(["b", "a"]);
});

it("D36: chunks are printed before the end, once, also after a lost attempt; an empty list is no output", async () => {
	const parts = [
		{ chunks: ['"one"'], next: 1, over: false },
		{ chunks: ['"two\\nlines"'], next: 2, over: true },
	];
	const asked: number[] = [];
	const q = printer({
		result: async () => ({ output: "[]" }),
		chunks: async (_, { from }) => {
			asked.push(from);
			return parts.shift()!;
		},
	});
	q.started("a");
	q.settled("a");
	await vi.waitFor(() => expect(q.lines).toHaveLength(5));
	expect(q.lines.slice(2)).toEqual(["job …a onetwo", "job …a lines", "job …a done in 0 ms, 2 chunks"]);
	expect(asked).toEqual([0, 1]);
});

it("D36: a streamed text that pauses is printed as far as it has come", async () => {
	const later = Promise.withResolvers<void>();
	const q = printer({
		chunks: async (_, { from }) => {
			if (from === 0) return { chunks: ['"Loading"'], next: 1, over: false };
			await later.promise;
			return { chunks: ['"done"'], next: 2, over: true };
		},
	});
	q.started("a");
	await q.clock.advance(900);
	expect(q.lines).toHaveLength(2);
	await q.clock.advance(100);
	expect(q.lines.at(-1)).toBe("job …a Loading");
	later.resolve();
	await vi.waitFor(() => expect(q.lines.at(-1)).toBe("job …a done"));
});

it("D36: progress is printed while the job runs", async () => {
	const q = printer({ result: async () => ({ output: '{"percent":5}' }) });
	q.started("a");
	q.events.emit("job.progressed", { endpoint, id: "a" });
	await vi.waitFor(() => expect(q.lines.at(-1)).toBe('job …a progress {"percent":5}'));
});
