/** Places of workers: GPUs of this machine, rooms on platforms, workers that sleep meanwhile (D27, D28). */
import type { Endpoint } from "../../../kernel/core/endpoints/endpoint.ts";
import type { AssignedGpus } from "../../../kernel/core/workers/gpu-part.ts";
import { compareWaiting, type Waiting } from "../../../kernel/core/workers/priority.ts";
import { launchHash } from "../../../kernel/engine/endpoints/launch-hash.ts";
import { isOld } from "../../../kernel/engine/releases/worker-release.ts";
import { ANYWHERE, getsGpus, type Place, type PlacementPolicy } from "../../../kernel/engine/scaling/placement.ts";
import { holdsGpus, isPlaced, type Worker } from "../../../kernel/engine/workers/worker-registry.ts";
import type { EpochMs } from "../../../kernel/lib/time.ts";
import type { Kernel } from "../../../kernel/module.ts";
import { gpuAllocator } from "./gpu-allocator.ts";
import { roomMaker } from "./room.ts";
import { sleepers } from "./sleepers.ts";

export function placement(d: Kernel): PlacementPolicy {
	const { now } = d;
	const { registry, launcher, sleep } = d.workers;
	const { stop, queues } = d.scaling;
	const allocator = gpuAllocator(d);
	const asleep = sleepers(d);
	const room = roomMaker(d);
	/** When an endpoint last had a worker with a GPU, or on a platform a worker. */
	const hadGpuAt = new Map<string, EpochMs>();

	const waitingOf = ({ id, priority }: Endpoint): Waiting => ({
		priority,
		oldestQueuedAt: queues.of(id)?.oldestQueuedAt ?? Number.MAX_SAFE_INTEGER,
		hadGpuAt: hadGpuAt.get(id) ?? 0,
	});

	const placeOf = (endpoint: Endpoint, { gpus, sizeGb }: AssignedGpus): Place => ({
		gpus,
		sizeGb,
		roomSince: room.takeTime(endpoint),
	});

	/** Stops one that sleeps, so that another may start on these GPUs, unless the end of one makes place already. */
	function makePlace(endpoint: Endpoint, sleeper: Worker, gpus: AssignedGpus): void {
		const ending = [...registry.of(endpoint.id)].find((worker) => worker.managed && launcher.isStopping(worker));
		if (!ending) stop(sleeper, "its GPUs are taken, and others are free for a new worker");
		allocator.keepUntil(ending ?? sleeper, endpoint, gpus);
	}

	return {
		review(): void {
			asleep.stopSurplus();
			room.withdraw();
		},
		order(round) {
			for (const worker of registry.all())
				if (worker.gpus.length > 0 ? holdsGpus(worker) : isPlaced(worker)) hadGpuAt.set(worker.endpoint, now());
			allocator.beginRound();
			return round.toSorted((a, b) => compareWaiting(waitingOf(a.endpoint), waitingOf(b.endpoint)));
		},
		heldBack: room.keptFor,
		place(endpoint, { mayEvict }) {
			const { id, workersMax } = endpoint;
			const sleeping = asleep.of(id);
			const wakeable = sleeping.filter((worker) => !isOld(worker, launchHash(endpoint)));
			const allocation = getsGpus(endpoint) ? allocator.allocate(endpoint, mayEvict, wakeable) : ANYWHERE;
			if ("wake" in allocation) {
				sleep.wake(allocation.wake, room.takeTime(endpoint));
				return "woken";
			}
			if ("gpus" in allocation) {
				const present = [...registry.of(id)].filter(({ managed }) => managed);
				const longest = present.length >= workersMax ? sleeping.at(-1) : undefined;
				if (!longest) return placeOf(endpoint, allocation);
				makePlace(endpoint, longest, allocation);
				return { waits: undefined };
			}
			room.evict(allocation.evict, endpoint);
			return { waits: [allocation.shortage, ...room.leavingTexts(endpoint)].join(" ") };
		},
		placeBeside(endpoint) {
			const allocation = allocator.allocate(endpoint, false, []);
			if ("gpus" in allocation) return placeOf(endpoint, allocation);
			const makers = (mayLeave: (worker: Worker) => boolean): number => allocator.makersOf(endpoint, mayLeave).length;
			return { waits: "shortage" in allocation ? allocation.shortage : undefined, makers };
		},
		makeRoom: room.make,
		leave: room.leave,
	};
}
