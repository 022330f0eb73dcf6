/** Compares what workers use of GPUs with their parts (D27). */
import { excessText } from "./gpu-excess.ts";
import { asSentence } from "../../kernel/lib/text.ts";
import type { EpochMs } from "../../kernel/lib/time.ts";
import { loop, type Loop } from "../../kernel/system/loop.ts";
import type { GpuMemory } from "../../kernel/engine/workers/gpus.ts";
import type { Worker } from "../../kernel/engine/workers/worker-registry.ts";
import type { WorkersContext } from "../../kernel/engine/workers/workers-context.ts";

/** Time between two readings in the first minutes of a worker, then, and while no worker has a part, ms. */
const FIRST_MS = 10_000;
const LATER_MS = 60_000;
const NONE_MS = 3_600_000;

/** After its first call, ms. */
const FIRST_MINUTES_MS = 300_000;

interface Deps extends Pick<WorkersContext, "clock" | "now" | "events" | "endpoints" | "registry"> {
	memoryOf: (workers: readonly Worker[]) => Promise<GpuMemory>;
}

export function gpuParts(d: Deps): Loop {
	function compare(worker: Worker, gpuMemoryGb: number, used: ReadonlyMap<string, number> | undefined): void {
		const { id, endpoint, gpus, excess: before } = worker;
		const text = excessText({ gpus, gpuMemoryGb }, Math.max(0, ...(used?.values() ?? [])));
		if (text === undefined) return void delete worker.excess;
		worker.excess = { code: "gpu_memory_exceeded", message: asSentence(text) };
		const ends = d.endpoints.has(endpoint) && d.endpoints.get(endpoint).gpuMemoryEnforce;
		if (!before || ends) d.events.emit("worker.exceeded", { endpoint, worker: id, why: text, ends });
	}

	const step = async (): Promise<number> => {
		const all = [...d.registry.all()].flatMap((worker) => {
			const { managed, ready, gpuMemoryGb } = worker;
			return managed && ready && gpuMemoryGb !== undefined ? [{ worker, gpuMemoryGb }] : [];
		});
		if (all.length === 0) return NONE_MS;
		// Those that sleep or are to be stopped may go on.
		const workers = all.filter(({ worker }) => !worker.draining && !worker.sleep);
		if (workers.length === 0) return LATER_MS;
		const memory = await d.memoryOf(workers.map(({ worker }) => worker));
		// Some may have begun to sleep meanwhile.
		for (const { worker, gpuMemoryGb } of workers.filter(({ worker }) => !worker.sleep))
			compare(worker, gpuMemoryGb, memory.get(worker.id));
		const isNew = ({ readyAt = -Infinity }: { readyAt?: EpochMs }): boolean => d.now() - readyAt < FIRST_MINUTES_MS;
		return workers.some(({ worker }) => isNew(worker)) ? FIRST_MS : LATER_MS;
	};

	const readings = loop({
		clock: d.clock,
		retryMs: LATER_MS,
		onError: (error) => d.events.emit("fault", { where: "comparing the memory of GPUs", error }),
		step,
	});
	d.events.on(["worker.ready", "worker.woken"], ({ endpoint, worker: id }) => {
		if (d.registry.get({ endpoint, id })?.gpuMemoryGb !== undefined) readings.nudge();
	});
	return readings;
}
