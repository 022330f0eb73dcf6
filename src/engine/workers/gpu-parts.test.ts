/** How often the memory of GPUs is read for workers with parts (D27). */
import { expect, it, onTestFinished } from "vitest";
import { given } from "../../../test/support/given.ts";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { eventBus } from "../../events.ts";
import { gpuParts } from "./gpu-parts.ts";
import { workerRegistry } from "./worker-registry.ts";

it("D27: it is read every 10 s in a worker's first 5 minutes, then each minute, and not without a part", async () => {
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
	const meet = (id: string, gpuMemoryGb?: number): void => {
		const worker = { id, endpoint: "e", launcher: "process", gpus: [0], gpuMemoryGb, now: clock.now() };
		registry.seen(registry.meet({ ...worker, ready: false }), clock.now());
	};
	meet("whole");
	await clock.advance(100_000);
	expect(readAt).toEqual([]);
	const began = clock.now();
	meet("part", 10);
	await clock.advance(480_000);
	const first = Array.from({ length: 31 }, (_, index) => began + index * 10_000);
	expect(readAt).toEqual([...first, ...[360_000, 420_000, 480_000].map((ms) => began + ms)]);
});
