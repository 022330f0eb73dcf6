/**
 * Workers that this server did not start: of its earlier runs, and on shared platforms those of the server that scaled
 * the endpoint before (D28, D34).
 */
import type { Endpoint } from "../../../core/endpoints/endpoint.ts";
import type { EpochMs } from "../../../lib/time.ts";
import { isShared } from "../../../launchers/index.ts";
import { type EndpointWorkers, type Exit, type Handle, STARTED_BY } from "../../../launchers/launcher.ts";
import type { WorkerRow } from "../../../store/contract/workers.ts";
import { LAUNCHED_AS } from "../../endpoints/launch-hash.ts";
import { SCALE } from "../../cluster/heartbeat.ts";
import { unlessFull } from "../../availability/storage/free-space.ts";
import { hiddenIn } from "./shown-text.ts";
import { endPolls, type HeldJob, type Worker, type WorkerRegistry } from "../worker-registry.ts";
import { closeWorker, recordCalled, restoreSleep } from "../worker-transitions.ts";
import type { WorkersContext } from "../workers-context.ts";

/** Members of a stored handle: GPU numbers, comma separated, and the part of each in 10^9 bytes. */
const GPUS = "sluiceGpus";
const GPU_MEMORY = "sluiceGpuMemoryGb";
/** Since when it sleeps, ms since the epoch, or {@link UNSURE} while that changes. */
export const ASLEEP_SINCE = "sluiceAsleepSince";
export const UNSURE = "unsure";

interface Deps extends WorkersContext {
	exited: (exit: Exit) => Promise<void>;
	stop: (worker: Worker, q: { why: string; graceMs: number }) => Promise<void>;
}

/**
 * Adds the worker of a row that an earlier run of this server has stored. Its polls may arrive before it is taken over:
 * one that sleeps, or may, gets no job.
 */
export function meetStored(registry: WorkerRegistry, row: WorkerRow, now: EpochMs): Worker {
	const worker = registry.meet({ ...row, ready: false, now });
	const since = row.handle === undefined ? undefined : (JSON.parse(row.handle) as Handle)[ASLEEP_SINCE];
	if (typeof since === "number") {
		// It called before it fell asleep.
		recordCalled(worker, since);
		restoreSleep(worker, since);
	} else if (since === UNSURE) closeWorker(worker);
	return worker;
}

export class TakeOver {
	readonly #d: Deps;
	readonly #complete = new Set<string>();
	readonly #inProgress = new Set<string>();

	constructor(d: Deps) {
		this.#d = d;
		d.events.on("lease.lost", ({ name }) => {
			if (name.startsWith(SCALE)) this.#release(name.slice(SCALE.length));
		});
	}

	/** Takes over running workers that call this address, and stops the rest. */
	async restore(): Promise<void> {
		const { store, cluster, address, launchers, endpoints: all } = this.#d;
		const { own, shared } = await address;
		const rows = (await store.workers.list()).filter(
			({ server, launcher }) => server === cluster.id && !this.#movesWithLease(launcher),
		);
		const of = (launcher: string) => (isShared(launcher) ? shared : own);
		const lost: WorkerRow[] = [];
		for (const row of rows) if (!(await this.#restoreWorker(row, of(row.launcher)))) lost.push(row);
		for (const [name, launcher] of launchers) {
			if (this.#movesWithLease(name)) continue;
			const recorded = rows.filter((row) => row.launcher === name).map(({ id }) => id);
			const { serviceId } = of(name);
			const endpoints = all
				.all()
				.flatMap(({ endpoint }) => (endpoint.launcher.type === name ? [workersOf(endpoint)] : []));
			await launcher.removeStrays({ serviceId, recorded, endpoints, scales: cluster.scales });
		}
		await this.#forgetLost(lost);
	}

	/**
	 * Whether this server knows all workers of an endpoint that it scales. If not, it begins to take them over and must
	 * start none until then.
	 */
	isComplete(endpoint: Endpoint): boolean {
		const { id, launcher } = endpoint;
		if (!this.#movesWithLease(launcher.type) || this.#complete.has(id)) return true;
		if (!this.#inProgress.has(id)) {
			this.#inProgress.add(id);
			const taking = this.#takeEndpoint(endpoint).finally(() => this.#inProgress.delete(id));
			this.#d.background.run(`taking over the workers of ${id}`, taking);
		}
		return false;
	}

	releaseAll(): void {
		for (const { endpoint } of this.#d.endpoints.all())
			if (this.#movesWithLease(endpoint.launcher.type)) this.#release(endpoint.id);
	}

	/** A server alone has its own; else they belong to the server that scales the endpoint. */
	#movesWithLease(launcher: string): boolean {
		return this.#d.cluster.shared && isShared(launcher);
	}

	/** Returns false if it is not running, its platform does not know it, or another service started it. */
	async #restoreWorker(row: WorkerRow, { url, serviceId }: { url: string; serviceId: string }): Promise<boolean> {
		const { registry, launchers, events, now, stop, access } = this.#d;
		const launcher = launchers.get(row.launcher);
		const worker = meetStored(registry, row, now());
		const handle = row.handle === undefined ? undefined : (JSON.parse(row.handle) as Handle);
		worker.hidden = handle && hiddenIn(handle, access.encryption);
		const isForeign = handle?.[STARTED_BY] !== undefined && handle[STARTED_BY] !== serviceId;
		if (!launcher || !handle || isForeign || !(await launcher.adopt(row.id, handle, serviceId))) {
			const text = isForeign ? "another service has started it" : "it ended while no service watched it";
			closeWorker(worker, { text });
			return false;
		}
		worker.host = hostOf(this.#d, row.launcher, handle);
		Object.assign(worker, gpusIn(handle));
		if (handle[LAUNCHED_AS] !== undefined) worker.launchedAs = String(handle[LAUNCHED_AS]);
		// It called the service that ran here before, unless its platform has not run it yet.
		if (worker.notice?.state !== "waiting") {
			registry.seen(worker, now());
			worker.hasSettled = true;
		}
		if (row.url !== url)
			await stop(worker, {
				why: `it calls the service at ${row.url ?? "no address"}, which is now at ${url}`,
				graceMs: 0,
			});
		else if (handle[ASLEEP_SINCE] === UNSURE)
			await stop(worker, { why: "the service ended while it fell asleep or woke up", graceMs: 0 });
		else events.emit("worker.adopted", { endpoint: row.endpoint, worker: row.id });
		return true;
	}

	/**
	 * Only after the platform has ended strays: a worker whose start was not recorded may live, and its jobs must not run
	 * elsewhere meanwhile.
	 */
	async #forgetLost(rows: readonly WorkerRow[]): Promise<void> {
		const { workerLogs, exited } = this.#d;
		// What the store still has of an exited worker is removed at the next start.
		for (const { id: workerId } of rows)
			await unlessFull(workerLogs.lastOutput(workerId).then((lastOutput) => exited({ workerId, lastOutput })));
	}

	/** It may have called any server, so its jobs are those of the store. */
	#meet(row: WorkerRow, held: ReadonlyMap<string, HeldJob>): void {
		const { registry, now } = this.#d;
		const caller = registry.get(row);
		if (caller) {
			endPolls(caller);
			registry.forget(caller);
		}
		const worker = registry.meet({ ...row, ready: false, now: now() });
		for (const [id, job] of held) worker.held.set(id, job);
	}

	async #takeEndpoint(endpoint: Endpoint): Promise<void> {
		const { store, registry, cluster, address, launchers } = this.#d;
		const { shared } = await address;
		const { serviceId } = shared;
		const running = Map.groupBy(await store.jobs.running(), ({ worker }) => worker);
		const rows = (await store.workers.list()).filter(
			(row) => row.endpoint === endpoint.id && isShared(row.launcher) && !registry.get(row)?.managed,
		);
		const lost: WorkerRow[] = [];
		for (const row of rows) {
			const jobs = (running.get(row.id) ?? []).filter((job) => job.endpoint === row.endpoint);
			this.#meet(row, new Map(jobs.map(({ id, attempt, startedAt }) => [id, { attempt, handedAt: startedAt }])));
			if (!(await this.#restoreWorker(row, shared))) lost.push(row);
			else if (registry.get(row)) await store.workers.put({ ...row, server: cluster.id });
		}
		const recorded = rows.map(({ id }) => id);
		const endpoints = [workersOf(endpoint)];
		const launcher = launchers.get(endpoint.launcher.type);
		await launcher?.removeStrays({ serviceId, recorded, endpoints, scales: cluster.scales });
		await this.#forgetLost(lost);
		if (cluster.scales(endpoint.id)) this.#complete.add(endpoint.id);
		else this.#release(endpoint.id);
	}

	/** The server that scales the endpoint now has its workers. Those of a deleted one are stopped instead. */
	#release(endpoint: string): void {
		const { registry, endpoints, launchers } = this.#d;
		this.#complete.delete(endpoint);
		if (!endpoints.has(endpoint)) return;
		for (const worker of [...registry.of(endpoint)]) {
			if (!worker.managed || !isShared(worker.launcher)) continue;
			endPolls(worker);
			registry.forget(worker);
		}
		for (const launcher of launchers.values()) launcher.release?.(endpoint);
	}
}

export function hostOf({ hostname }: WorkersContext, launcher: string, { host }: Handle): string | undefined {
	if (typeof host === "string") return host;
	return isShared(launcher) ? undefined : hostname;
}

export function gpuMembers({ gpus, gpuMemoryGb }: Pick<Worker, "gpus" | "gpuMemoryGb">): Handle {
	return {
		...(gpus.length > 0 && { [GPUS]: gpus.join(",") }),
		...(gpuMemoryGb !== undefined && { [GPU_MEMORY]: gpuMemoryGb }),
	};
}

function gpusIn(handle: Handle): Pick<Worker, "gpus" | "gpuMemoryGb"> {
	const numbers = String(handle[GPUS] ?? "").split(",");
	const memory = handle[GPU_MEMORY];
	return {
		gpus: numbers.filter((gpu) => gpu !== "").map(Number),
		gpuMemoryGb: memory === undefined ? undefined : Number(memory),
	};
}

function workersOf({ id, launcher }: Endpoint): EndpointWorkers {
	return { id, settings: launcher };
}
