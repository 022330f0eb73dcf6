/** GPUs of this machine for new workers (D27, D28, D29). */
import type { Endpoint, LauncherSettings } from "../../../kernel/core/endpoints/endpoint.ts";
import { evictable, type EvictionQuery, turnEndsAt } from "./eviction.ts";
import { type GpuNeed, needText } from "../../../kernel/core/workers/gpu-need.ts";
import { type AssignedGpus, freeGb } from "../../../kernel/core/workers/gpu-part.ts";
import { type GpuHolder, type GpuQuery, ownMakers, wakeOrAllocate } from "./gpu-allocation.ts";
import type { Endpoints } from "../../../kernel/engine/endpoints/endpoints.ts";
import {
	holdsGpus,
	isBusyLow,
	isSleeping,
	isStarting,
	type Worker,
} from "../../../kernel/engine/workers/worker-registry.ts";
import type { Kernel } from "../../../kernel/module.ts";

/** Times in a sentence are rounded up to this, s, so that it does not change with each second. */
const ROUND_S = 10;

const UNREAD = "nvidia-smi did not answer, or not yet.";

export function gpuAllocator(d: Pick<Kernel, "now" | "endpoints" | "workers">) {
	const holders = (): Worker[] => [...d.workers.registry.all()].filter(holdsGpus);
	/** GPUs already promised in this round, to endpoints before this one. */
	let reserved: GpuHolder[] = [];
	/** Free GPUs that an endpoint uses once this worker has ended. */
	const kept = new Map<Worker, GpuHolder>();

	function reservedFor({ id, gpuMemoryGb: memoryGb }: Endpoint, gpus: readonly number[]): GpuHolder {
		const waiting = { worker: "", endpoint: id, startingSince: d.now(), stopping: false, isReserved: true };
		return { ...waiting, gpus, memoryGb };
	}

	function queryOf(endpoint: Endpoint, mayEvict: boolean): EvictionQuery<GpuHolder> {
		const { id, gpusPerWorker } = endpoint;
		return {
			needed: gpusPerWorker,
			endpoint: id,
			holders: [
				...holders().map((worker) => ({
					...holderOf(worker),
					gpus: worker.gpus,
					memoryGb: worker.gpuMemoryGb,
				})),
				...reserved.filter((each) => each.endpoint !== id),
			],
			settingsOf: settingsIn(d.endpoints),
			mayEvict,
			now: d.now(),
		};
	}

	function takenText(endpoint: Endpoint): string {
		const taken = holders().map((worker) => {
			const { id, gpus, gpuMemoryGb, draining } = worker;
			const part = gpuMemoryGb === undefined ? "" : `: ${gpuMemoryGb} GB`;
			return `${id} (${gpus.join(", ")}${part}${draining ? ", ending" : isSleeping(worker) ? ", going to sleep" : ""})`;
		});
		const others = reserved.filter((each) => each.endpoint !== endpoint.id);
		const kept = others.map((each) => `endpoint ${each.endpoint} next (${each.gpus.join(", ")})`);
		return `are taken: by ${[...taken, ...kept].join(", ")}. ${turnText(queryOf(endpoint, true))}`;
	}

	/** Returns a sentence. */
	function shortage(endpoint: Endpoint): string {
		const { id, gpusPerWorker, gpuMemoryGb } = endpoint;
		const needs = `A worker of endpoint '${id}' needs`;
		if (gpusPerWorker > d.workers.gpus.count)
			return (
				`${needs} ${gpusPerWorker} of the machine's GPUs, and this ` +
				`service has ${d.workers.gpus.count}: set gpus in sluice.yaml or SLUICE_GPUS, or lower gpusPerWorker.`
			);
		const why = tooFewOf(d.workers.gpus, endpoint) ?? tooSmall(d.workers.gpus, endpoint);
		const of = gpusPerWorker === 1 ? "one GPU" : `each of ${gpusPerWorker} GPUs`;
		const what =
			gpuMemoryGb === undefined ? `${gpusPerWorker} of the ${d.workers.gpus.count} GPUs` : `${gpuMemoryGb} GB of ${of}`;
		return `${needs} ${what}, and ${why ?? `too many ${takenText(endpoint)}`}`;
	}

	function gpuQueryOf(endpoint: Endpoint, mayEvict: boolean): GpuQuery {
		const { gpuMemoryGb: memoryGb } = endpoint;
		// Whole GPUs need no reading, which starts a program.
		const sizes =
			memoryGb === undefined ? Array.from({ length: d.workers.gpus.count }, () => undefined) : d.workers.gpus.sizes();
		const need = needOf(endpoint.launcher);
		const only = need && (d.workers.gpus.fitting(need) ?? []);
		return { ...queryOf(endpoint, mayEvict), sizes, memoryGb, ...(only && { only }) };
	}

	return {
		/** Returns the fewest of its own workers that have to leave for one; none if that does not help, or others do. */
		makersOf(endpoint: Endpoint, mayLeave: (worker: Worker) => boolean): string[] {
			const own = holders().filter((worker) => worker.endpoint === endpoint.id && mayLeave(worker));
			return ownMakers(gpuQueryOf(endpoint, false), new Set(own.map(({ id }) => id)));
		},
		/** Called before the endpoints of a round, which are asked for in their order. */
		beginRound(): void {
			for (const worker of kept.keys()) if (d.workers.registry.get(worker) !== worker) kept.delete(worker);
			reserved = [...kept.values()];
		},
		/** No other endpoint gets the GPUs before that worker has ended. */
		keepUntil(ending: Worker, endpoint: Endpoint, { gpus }: AssignedGpus): void {
			const holder = reservedFor(endpoint, gpus);
			kept.set(ending, holder);
			reserved.push(holder);
		},
		/**
		 * Returns one of the sleeping workers whose own GPUs have room, else GPUs, or the workers that should make room,
		 * and why it waits.
		 */
		allocate(
			endpoint: Endpoint,
			mayEvict: boolean,
			asleep: readonly Worker[],
		): { wake: Worker } | AssignedGpus | { evict: Worker[]; shortage: string } {
			const allocation = wakeOrAllocate(gpuQueryOf(endpoint, mayEvict), asleep);
			if (!("evict" in allocation)) return allocation;
			const coming = allocation.reserved;
			const why = shortage(endpoint);
			if (coming.length > 0) reserved.push(reservedFor(endpoint, coming));
			const evict = holders().filter(({ id }) => allocation.evict.includes(id));
			return { evict, shortage: why };
		},
	};
}

/** Returns a sentence if too few GPUs are of the kind that it can use, or none is known to be. */
function tooFewOf(gpus: Kernel["workers"]["gpus"], { launcher, gpusPerWorker }: Endpoint): string | undefined {
	const need = needOf(launcher);
	if (!need) return undefined;
	const fitting = gpus.fitting(need);
	if (!fitting) return `the models of this machine's GPUs are not known: ${UNREAD}`;
	if (fitting.length >= gpusPerWorker) return undefined;
	const are = fitting.length === 1 ? "is" : "are";
	return `${fitting.length} of them ${are}${needText(need)}: correct launcher.gpu, or lower gpusPerWorker.`;
}

/** Returns a sentence if no GPU could ever hold such a part, or none is known to. */
function tooSmall(gpus: Kernel["workers"]["gpus"], { gpusPerWorker, gpuMemoryGb }: Endpoint): string | undefined {
	if (gpuMemoryGb === undefined) return undefined;
	const sizes = gpus.sizes();
	if (sizes.filter((size) => freeGb(size, []) >= gpuMemoryGb).length >= gpusPerWorker) return undefined;
	const known = sizes.flatMap((size) => size ?? []);
	if (known.length < sizes.length) return `the memory of this machine's GPUs is not known: ${UNREAD}`;
	const largest = Math.max(...known.map((size) => freeGb(size, [])));
	return `the GPUs of this machine have at most ${largest} GB for workers: lower gpuMemoryGb.`;
}

/** The launchers that use this machine's GPUs have it. */
function needOf(launcher: LauncherSettings): GpuNeed | undefined {
	return (launcher as { gpu?: GpuNeed }).gpu;
}

/** Returns all but the GPUs, which platforms that place workers do not name. */
export function holderOf(worker: Worker): Omit<GpuHolder, "gpus"> {
	const { id, endpoint, draining, readyAt, startingSince, sleep, held, idleSince } = worker;
	const starts = isStarting(worker);
	return {
		worker: id,
		endpoint,
		stopping: draining || isSleeping(worker),
		readyAt: starts ? undefined : readyAt,
		startingSince: sleep?.since ?? startingSince,
		idleSince: !starts && held.size === 0 ? idleSince : undefined,
		busyLow: isBusyLow(worker),
	};
}

/** A removed endpoint keeps no worker. */
export function settingsIn(endpoints: Endpoints): EvictionQuery<GpuHolder>["settingsOf"] {
	return (id) => (endpoints.has(id) ? endpoints.get(id) : { priority: "low", workersMin: 0 });
}

/** Says what the worker waits for. */
function turnText(q: EvictionQuery<GpuHolder>): string {
	const next = evictable(q, { later: true }).find(({ idleSince, readyAt }) => idleSince === undefined && readyAt);
	const seconds = next ? Math.ceil((turnEndsAt(next) - q.now) / (ROUND_S * 1000)) * ROUND_S : 0;
	if (!next || seconds <= 0) return "It starts when one of these makes room.";
	return `It starts when one of these makes room; the turn of ${next.worker} ends within ${seconds} s.`;
}
