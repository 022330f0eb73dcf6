/** Who had each GPU in the last hour, as the console draws it (D27). In memory: a start of the service begins it. */
import type { GpuUse } from "../../kernel/core/workers/gpus.ts";
import type { EpochMs } from "../../kernel/lib/time.ts";
import type { HeldGpu } from "../../kernel/engine/workers/gpus.ts";
import { useOf, type Worker } from "../../kernel/engine/workers/worker-registry.ts";

const KEPT_MS = 3_600_000;

/** Kept of one GPU, the newest. */
const MOST_SPANS = 1000;

/** A worker that is idle between two jobs for less counts as busy, ms: so spans stay few. */
const PAUSE_MS = 10_000;

export interface GpuSpan {
	worker: string;
	endpoint: string;
	state: GpuUse;
	from: EpochMs;
	to: EpochMs;
}

export function gpuHistory({ now, held }: { now: () => EpochMs; held: () => readonly HeldGpu[] }) {
	const byGpu = new Map<string, GpuSpan[]>();
	let sampledAt: EpochMs = -Infinity;
	const keyOf = ({ host, id }: { host: string; id: string }): string => `${host} ${id}`;

	function add(spans: GpuSpan[], worker: Worker, at: EpochMs): void {
		const { id, endpoint } = worker;
		const state = useOf(worker);
		const index = spans.findLastIndex((span) => span.worker === id);
		const last = spans[index];
		if (last?.to !== sampledAt) return void spans.push({ worker: id, endpoint, state, from: at, to: at });
		if (last.state === state) return void (last.to = at);
		const before = spans.findLast((span) => span.worker === id && span.to === last.from);
		if (state === "busy" && before?.state === "busy" && sampledAt - last.from < PAUSE_MS) {
			spans.splice(index, 1);
			before.to = at;
		} else spans.push({ worker: id, endpoint, state, from: sampledAt, to: at });
	}

	return {
		/** Adds the time since the last call, with the present states. */
		sample(): void {
			const at = now();
			for (const { worker, ...gpu } of held()) {
				const spans = byGpu.get(keyOf(gpu)) ?? [];
				byGpu.set(keyOf(gpu), spans);
				add(spans, worker, at);
			}
			for (const [key, spans] of byGpu) {
				const kept = spans.filter(({ to }) => to > at - KEPT_MS).slice(-MOST_SPANS);
				if (kept.length === 0) byGpu.delete(key);
				else byGpu.set(key, kept);
			}
			sampledAt = at;
		},
		/** Returns spans in the order of their begin. */
		of: (gpu: { host: string; id: string }): readonly GpuSpan[] => byGpu.get(keyOf(gpu)) ?? [],
	};
}
