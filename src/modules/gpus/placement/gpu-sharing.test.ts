/**
 * Endpoints that share GPUs, simulated over random arrivals, sizes, starts and lengths of jobs: what is promised about
 * waiting, swaps and memory (D28). `SLUICE_SCHEDULES` is the number of schedules.
 */
import fc from "fast-check";
import { it } from "vitest";
import { compareWaiting, type Priority } from "../../../kernel/core/workers/priority.ts";
import { MIN_STAY_MS, TURN_MS, turnEndsAt } from "./eviction.ts";
import { type GpuHolder, wakeOrAllocate } from "./gpu-allocation.ts";
import { RESERVE_GB } from "../../../kernel/core/workers/gpu-part.ts";

const SCHEDULES = Number(process.env["SLUICE_SCHEDULES"] ?? 60);

const STEP_MS = 1000;
const STEPS = 1500;
const IDLE_TIMEOUT_MS = 5000;

interface Site {
	sizes: number[];
	endpoints: {
		needs: { gpus: number; memoryGb?: number | undefined };
		workersMax: number;
		startMs: number;
		/** Its workers sleep instead of being stopped, and take this time to wake up. */
		wakeMs?: number | undefined;
		jobMs: number;
		priority: Priority;
		/** Its jobs are of low priority: one worker is wanted for them. */
		isLow: boolean;
		/** Jobs come at these steps, so many at a time. */
		arrivals: { at: number; jobs: number }[];
	}[];
}

interface SimulatedWorker extends GpuHolder {
	startMs: number;
	jobEndsAt?: number | undefined;
}

const SIZES = [24.2, 24.2, 48];

const site: fc.Arbitrary<Site> = fc
	.record({
		gpus: fc.integer({ min: 1, max: 3 }),
		endpoints: fc.array(
			fc.record({
				gpus: fc.integer({ min: 1, max: 2 }),
				memoryGb: fc.option(fc.integer({ min: 2, max: 23 }), { nil: undefined }),
				workersMax: fc.integer({ min: 1, max: 3 }),
				startMs: fc.integer({ min: 1000, max: 30_000 }),
				wakeMs: fc.option(fc.integer({ min: 1000, max: 5000 }), { nil: undefined }),
				jobMs: fc.integer({ min: 1000, max: 40_000 }),
				priority: fc.constantFrom<Priority>("low", "normal", "normal", "high"),
				isLow: fc.constantFrom(false, false, false, true),
				arrivals: fc.array(fc.record({ at: fc.nat(STEPS - 1), jobs: fc.integer({ min: 1, max: 30 }) }), {
					minLength: 1,
					maxLength: 8,
				}),
			}),
			{ minLength: 2, maxLength: 4 },
		),
	})
	.map(({ gpus, endpoints }) => ({
		sizes: SIZES.slice(0, gpus),
		endpoints: endpoints.map(({ gpus: wanted, memoryGb, ...rest }) => ({
			...rest,
			needs: { gpus: Math.min(wanted, gpus), memoryGb },
		})),
	}));

/** Runs the schedule until all jobs are done; throws where a promise is broken. */
function simulate({ sizes, endpoints }: Site): void {
	const queues = endpoints.map((): number[] => []);
	const hadGpuAt = endpoints.map(() => 0);
	/** Since when an endpoint has had jobs and no GPU. */
	const lackSince = endpoints.map((): number | undefined => undefined);
	let workers: SimulatedWorker[] = [];
	/** Those that sleep, by endpoint; the last ones first. */
	const asleep = endpoints.map((): SimulatedWorker[] => []);
	let numbers = 0;
	const settingsOf = (id: string) => ({ priority: endpoints[Number(id)]!.priority, workersMin: 0 });
	const longest = (of: (endpoint: Site["endpoints"][number]) => number): number => Math.max(...endpoints.map(of));
	// All that went before it, each with its start, its turn and its last job, and two steps for a stop.
	const lifeMs =
		longest(({ startMs }) => startMs + Math.max(TURN_MS, 4 * startMs)) + longest(({ jobMs }) => jobMs) + 4 * STEP_MS;
	const boundMs = endpoints.length * lifeMs;
	const areEqual = endpoints.every(({ priority }) => priority === endpoints[0]!.priority);
	const isOrdinary = (id: number): boolean => queues[id]!.length > 0 && !endpoints[id]!.isLow;
	const ofEndpoint = (id: number): SimulatedWorker[] => workers.filter(({ endpoint }) => endpoint === String(id));

	function advance(now: number): void {
		workers = workers.filter((worker) => {
			if (worker.jobEndsAt !== undefined && worker.jobEndsAt <= now)
				Object.assign(worker, { jobEndsAt: undefined, idleSince: now, busyLow: false });
			const leaves = worker.stopping && worker.jobEndsAt === undefined;
			if (leaves && endpoints[Number(worker.endpoint)]!.wakeMs !== undefined)
				asleep[Number(worker.endpoint)]!.unshift(worker);
			return !leaves;
		});
		for (const worker of workers) {
			const { jobMs, isLow: busyLow } = endpoints[Number(worker.endpoint)]!;
			if (worker.readyAt === undefined && now - worker.startingSince >= worker.startMs)
				Object.assign(worker, { readyAt: now, idleSince: now });
			if (worker.readyAt === undefined || worker.stopping || worker.jobEndsAt !== undefined) continue;
			const job = queues[Number(worker.endpoint)]!.shift();
			if (job !== undefined) Object.assign(worker, { jobEndsAt: now + jobMs, idleSince: undefined, busyLow });
			else if (now - worker.idleSince! >= IDLE_TIMEOUT_MS) worker.stopping = true;
		}
	}

	function scale(now: number): void {
		for (const { endpoint } of workers) hadGpuAt[Number(endpoint)] = now;
		const waiting = (id: number) => ({
			priority: endpoints[id]!.priority,
			oldestQueuedAt: queues[id]![0] ?? Infinity,
			hadGpuAt: hadGpuAt[id]!,
		});
		if (queues.every(({ length }) => length === 0)) return;
		const reserved: GpuHolder[] = [];
		const order = [...endpoints.keys()]
			.toSorted((a, b) => compareWaiting(waiting(a), waiting(b)))
			.toSorted((a, b) => Number(endpoints[a]!.isLow) - Number(endpoints[b]!.isLow));
		for (const id of order) {
			const { needs, workersMax, startMs, wakeMs = 0, isLow } = endpoints[id]!;
			const own = ofEndpoint(id).filter(({ stopping }) => !stopping);
			const busy = own.filter(({ jobEndsAt }) => jobEndsAt !== undefined).length;
			const wanted = isLow ? Math.min(1, queues[id]!.length) : Math.min(workersMax, busy + queues[id]!.length);
			for (let more = wanted - own.length; more > 0; more -= 1) {
				const query = {
					sizes,
					needed: needs.gpus,
					memoryGb: needs.memoryGb,
					endpoint: String(id),
					holders: [...workers, ...reserved],
					settingsOf,
					mayEvict: isOrdinary(id),
					now,
				};
				const allocation = wakeOrAllocate(query, asleep[id]!);
				if ("wake" in allocation) {
					const { worker, gpus, memoryGb } = allocation.wake;
					asleep[id] = asleep[id]!.filter((each) => each !== allocation.wake);
					const woken = { worker, gpus, memoryGb, endpoint: String(id), startingSince: now, stopping: false };
					workers.push({ ...woken, startMs: wakeMs });
					continue;
				}
				const common = { endpoint: String(id), memoryGb: needs.memoryGb, startingSince: now, stopping: false };
				if ("gpus" in allocation) {
					if (ofEndpoint(id).length + asleep[id]!.length >= workersMax) if (asleep[id]!.pop() === undefined) break;
					workers.push({ ...common, startMs, worker: `w${(numbers += 1)}`, gpus: allocation.gpus });
					continue;
				}
				reserved.push({ ...common, worker: "", gpus: allocation.reserved, isReserved: true });
				for (const worker of workers.filter((each) => allocation.evict.includes(each.worker))) {
					const isEqual = settingsOf(worker.endpoint).priority === endpoints[id]!.priority;
					if (worker.jobEndsAt !== undefined && isEqual && now < turnEndsAt(worker))
						throw new Error(`${worker.worker} is stopped within its turn`);
					worker.stopping = true;
				}
				break;
			}
		}
	}

	function check(now: number): void {
		for (const [gpu, size] of sizes.entries()) {
			const parts = workers.filter(({ gpus }) => gpus.includes(gpu));
			const isWhole = parts.some(({ memoryGb }) => memoryGb === undefined);
			const promised = parts.reduce((sum, { memoryGb = 0 }) => sum + memoryGb, RESERVE_GB);
			if (isWhole ? parts.length > 1 : promised > size + 1e-6) throw new Error(`GPU ${gpu} is promised twice`);
		}
		const ends = workers.some(({ stopping }) => stopping);
		// A whole GPU has room for each worker that needs one.
		const low = workers.find(
			({ busyLow, memoryGb, readyAt = now }) => busyLow && memoryGb === undefined && now - readyAt >= MIN_STAY_MS,
		);
		for (const id of endpoints.keys()) {
			const lacks = isOrdinary(id) && ofEndpoint(id).length === 0;
			if (lacks && endpoints[id]!.needs.gpus === 1 && low && !ends)
				throw new Error(`endpoint ${id} waits for ${low.worker}, which has low-priority jobs only`);
			lackSince[id] = lacks ? (lackSince[id] ?? now) : undefined;
			const waitMs = now - (lackSince[id] ?? now);
			if (areEqual && waitMs > boundMs) throw new Error(`endpoint ${id} waits for ${waitMs} ms of ${boundMs}`);
		}
	}

	for (let step = 0; step < STEPS || queues.some(({ length }) => length > 0); step += 1) {
		const now = step * STEP_MS;
		for (const [id, { arrivals }] of endpoints.entries())
			for (const { at, jobs } of arrivals)
				if (at === step) queues[id]!.push(...Array.from({ length: jobs }, () => now));
		advance(now);
		scale(now);
		check(now);
		if (step > 20 * STEPS) throw new Error(`jobs wait without end: ${queues.map(({ length }) => length).join(", ")}`);
	}
}

const equal = site.map(({ sizes, endpoints }) => ({
	sizes,
	endpoints: endpoints.map((endpoint) => ({ ...endpoint, priority: "normal" as const })),
}));

it("D28: a worker that needs two GPUs gets them, though others end their turns one after another", () => {
	const common = { workersMax: 1, startMs: 5000, jobMs: 3000, priority: "normal" as const, isLow: false };
	const long = (at: number) => [{ at, jobs: 2000 }];
	simulate({
		sizes: [24.2, 24.2],
		endpoints: [
			{ ...common, needs: { gpus: 2 }, arrivals: [{ at: 100, jobs: 1 }] },
			{ ...common, needs: { gpus: 1 }, arrivals: long(0) },
			{ ...common, needs: { gpus: 1 }, arrivals: long(30) },
			{ ...common, needs: { gpus: 1 }, arrivals: long(31) },
		],
	});
});

it.each([
	["of all priorities", site],
	["of one priority: none waits without a GPU longer than a turn of each other one", equal],
])(
	"D28: endpoints %s: no GPU is promised twice, no turn is cut, none waits for low-priority jobs, all jobs end",
	{ timeout: 36_000_000 },
	(_, sites) => {
		fc.assert(
			fc.property(sites, (schedule) => simulate(schedule)),
			{ numRuns: SCHEDULES, endOnFailure: true },
		);
	},
);
