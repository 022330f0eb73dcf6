/** How often the memory of GPUs is read for workers with parts (D27). */
import { expect, it, onTestFinished } from "vitest";
import { given } from "../../../test/support/given.ts";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { eventBus } from "../../kernel/events.ts";
import { gpuParts } from "./gpu-parts.ts";
import { type Worker, workerRegistry } from "../../kernel/engine/workers/worker-registry.ts";
import {
	beginWake,
	completeWake,
	markRetiring,
	restoreSleep,
	withdrawRetiring,
} from "../../kernel/engine/workers/worker-transitions.ts";

/** Times of the readings, each of the worker `part`, and what adds a worker that has called. */
function reading() {
	const events = eventBus();
	const registry = workerRegistry(events);
	const clock = manualClock();
	const readAt: number[] = [];
	const parts = gpuParts(
		given({
			now: () => clock.now(),
			clock,
			events,
			registry,
			memoryOf: async (workers: readonly { id: string }[]) => {
				readAt.push(clock.now());
				expect(workers.map(({ id }) => id)).toEqual(["part"]);
				return new Map();
			},
		}),
	);
	parts.start();
	onTestFinished(() => parts.stop());
	const meet = (id: string, gpuMemoryGb?: number): Worker => {
		const q = { id, endpoint: "e", launcher: "process", gpus: [0], gpuMemoryGb, now: clock.now() };
		const worker = registry.meet({ ...q, ready: false });
		registry.seen(worker, clock.now());
		return worker;
	};
	return { clock, events, readAt, meet };
}

it("D27: it is read every 10 s in a worker's first 5 minutes, then each minute, and not without a part", async () => {
	const { clock, readAt, meet } = reading();
	meet("whole");
	await clock.advance(100_000);
	expect(readAt).toEqual([]);
	const began = clock.now();
	meet("part", 10);
	await clock.advance(480_000);
	const first = Array.from({ length: 31 }, (_, index) => began + index * 10_000);
	expect(readAt).toEqual([...first, ...[360_000, 420_000, 480_000].map((ms) => began + ms)]);
});

it("D27: it is read again once a worker is awake, or is not to be stopped any more", async () => {
	const { clock, events, readAt, meet } = reading();
	const worker = meet("part", 10);
	restoreSleep(worker, clock.now());
	await clock.advance(200_000);
	expect(readAt).toEqual([]);
	beginWake(worker, { now: clock.now(), roomSince: undefined });
	completeWake(worker, { now: clock.now(), began: clock.now() });
	events.emit("worker.woken", { endpoint: "e", worker: "part", ms: 0 });
	await clock.advance(1000);
	expect(readAt).toHaveLength(1);
	markRetiring(worker, "it makes room");
	await clock.advance(300_000);
	expect(readAt).toHaveLength(1);
	withdrawRetiring(worker);
	await clock.advance(60_000);
	expect(readAt).toHaveLength(2);
});
