/**
 * Workers that this server did not start: of its earlier runs, and on shared platforms those of the
 * server that scaled the endpoint before (D28, D34).
 */
import type { Endpoint } from "../../core/endpoint.ts";
import { isShared } from "../../launchers/index.ts";
import type { EndpointWorkers, Exit, Handle, Launcher } from "../../launchers/launcher.ts";
import type { WorkerRow } from "../../store/contract/workers.ts";
import { SCALE } from "../cluster/cluster-state.ts";
import { unlessFull } from "../availability/read-only-start.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import { endPolls, type HeldJob, type Worker, type WorkerRegistry } from "./worker-registry.ts";
import type { ServiceAddress, ServiceAddresses } from "./worker-spec.ts";

/** Members of a stored handle: numbers of the worker's GPUs, comma separated; its launch hash. */
export const GPUS = "sluiceGpus";
export const LAUNCHED_AS = "sluiceLaunchedAs";

export interface TakeOver {
	/** Takes over running workers of earlier runs at this address, stops the rest. */
	restore(): Promise<void>;
	/**
	 * Whether this server knows all workers of an endpoint that it scales. If not, it begins to take
	 * them over; until then it must start none.
	 */
	isComplete(endpoint: Endpoint): boolean;
	/** Leaves the workers of shared platforms to the other servers. */
	releaseAll(): void;
}

export interface TakeOverDeps extends Pick<EngineContext, "now" | "events" | "store" | "background"> {
	registry: WorkerRegistry;
	launchers: ReadonlyMap<string, Launcher>;
	address: Promise<ServiceAddresses>;
	cluster: Pick<Cluster, "id" | "shared" | "scales">;
	endpoints: Pick<Endpoints, "all" | "has">;
	exited: (exit: Exit) => Promise<void>;
	hostOf: (launcher: string, handle: Handle) => string | undefined;
	stop: (worker: Worker, q: { why: string; graceMs: number }) => Promise<void>;
	/** The end of its log. */
	lastOutput: (worker: string) => Promise<string>;
}

export function takeOver(d: TakeOverDeps): TakeOver {
	const { store, registry, cluster } = d;
	/** Endpoints on shared platforms whose workers are known here. */
	const complete = new Set<string>();
	const inProgress = new Set<string>();

	const endpointsOf = (type: string): EndpointWorkers[] =>
		[...d.endpoints.all()]
			.map(({ endpoint }) => endpoint)
			.filter(({ launcher }) => launcher.type === type)
			.map(workersOf);
	/** A server alone has its own; else those of whichever server scales the endpoint. */
	const movesWithLease = (launcher: string): boolean => cluster.shared && isShared(launcher);

	/** False if it is not running, or unknown to its platform: see {@link forgetLost}. */
	async function restoreWorker(row: WorkerRow, url: string): Promise<boolean> {
		const launcher = d.launchers.get(row.launcher);
		const worker = registry.meet({ ...row, ready: false, now: d.now() });
		const handle = row.handle === undefined ? undefined : (JSON.parse(row.handle) as Handle);
		if (!launcher || !handle || !(await launcher.adopt(row.id, handle))) {
			worker.draining = true;
			worker.ending = { text: "it ended while no service watched it" };
			return false;
		}
		worker.host = d.hostOf(row.launcher, handle);
		worker.gpus = String(handle[GPUS] ?? "")
			.split(",")
			.filter((gpu) => gpu !== "")
			.map(Number);
		if (handle[LAUNCHED_AS] !== undefined) worker.launchedAs = String(handle[LAUNCHED_AS]);
		// It called the service that ran here before, unless its platform has not run it yet.
		if (worker.notice?.state !== "waiting") registry.seen(worker, d.now());
		if (row.url === url) d.events.emit("worker.adopted", { endpoint: row.endpoint, worker: row.id });
		else
			await d.stop(worker, {
				why: `it calls ${row.url ?? "nowhere"}, and the service is at ${url} now`,
				graceMs: 0,
			});
		return true;
	}

	/**
	 * Only after the platform has ended strays: the start of a worker may not have been recorded, and
	 * its jobs must not run elsewhere while it lives.
	 */
	async function forgetLost(rows: readonly WorkerRow[]): Promise<void> {
		// What the store still has of an exited worker is removed at the next start.
		for (const { id } of rows)
			await unlessFull(d.lastOutput(id).then((lastOutput) => d.exited({ workerId: id, lastOutput })));
	}

	/** Its jobs are those of the store: it may have called any server. */
	function meet(row: WorkerRow, held: ReadonlyMap<string, HeldJob>): void {
		const caller = registry.get(row);
		if (caller) {
			endPolls(caller);
			registry.forget(caller);
		}
		const worker = registry.meet({ ...row, ready: false, now: d.now() });
		for (const [id, job] of held) worker.held.set(id, job);
	}

	async function takeEndpoint(endpoint: Endpoint): Promise<void> {
		const { shared } = await d.address;
		const running = Map.groupBy(await store.jobs.running(), ({ worker }) => worker);
		const rows = (await store.workers.list()).filter(
			(row) => row.endpoint === endpoint.id && isShared(row.launcher) && !registry.get(row)?.managed,
		);
		const lost: WorkerRow[] = [];
		for (const row of rows) {
			const jobs = (running.get(row.id) ?? []).filter((job) => job.endpoint === row.endpoint);
			meet(row, new Map(jobs.map(({ id, attempt, startedAt }) => [id, { attempt, handedAt: startedAt }])));
			if (!(await restoreWorker(row, shared.url))) lost.push(row);
			else if (registry.get(row)) await store.workers.put({ ...row, server: cluster.id });
		}
		const launcher = d.launchers.get(endpoint.launcher.type);
		const recorded = rows.map(({ id }) => id);
		const { serviceId } = shared;
		const endpoints = [workersOf(endpoint)];
		await launcher?.removeStrays({ serviceId, recorded, endpoints, scales: cluster.scales });
		await forgetLost(lost);
		if (cluster.scales(endpoint.id)) complete.add(endpoint.id);
		else release(endpoint.id);
	}

	/** Another server scales the endpoint. Those of a deleted one are stopped instead. */
	function release(endpoint: string): void {
		complete.delete(endpoint);
		if (!d.endpoints.has(endpoint)) return;
		for (const worker of [...registry.of(endpoint)]) {
			if (!worker.managed || !isShared(worker.launcher)) continue;
			endPolls(worker);
			registry.forget(worker);
		}
		for (const launcher of d.launchers.values()) launcher.release?.(endpoint);
	}

	d.events.on("lease.lost", ({ name }) => {
		if (name.startsWith(SCALE)) release(name.slice(SCALE.length));
	});

	return {
		async restore() {
			const { own, shared } = await d.address;
			// Workers of other servers are theirs.
			const rows = (await store.workers.list()).filter(
				({ server, launcher }) => server === cluster.id && !movesWithLease(launcher),
			);
			const of = (launcher: string): ServiceAddress => (isShared(launcher) ? shared : own);
			const lost: WorkerRow[] = [];
			for (const row of rows) if (!(await restoreWorker(row, of(row.launcher).url))) lost.push(row);
			for (const [name, launcher] of d.launchers) {
				if (movesWithLease(name)) continue;
				const recorded = rows.filter((row) => row.launcher === name).map(({ id }) => id);
				const { serviceId } = of(name);
				const endpoints = endpointsOf(name);
				await launcher.removeStrays({ serviceId, recorded, endpoints, scales: cluster.scales });
			}
			await forgetLost(lost);
		},
		isComplete(endpoint) {
			const { id, launcher } = endpoint;
			if (!movesWithLease(launcher.type) || complete.has(id)) return true;
			if (!inProgress.has(id)) {
				inProgress.add(id);
				const taking = takeEndpoint(endpoint).finally(() => inProgress.delete(id));
				d.background.run(`taking over the workers of ${id}`, taking);
			}
			return false;
		},
		releaseAll() {
			for (const { endpoint } of [...d.endpoints.all()])
				if (movesWithLease(endpoint.launcher.type)) release(endpoint.id);
		},
	};
}

function workersOf({ id, launcher }: Endpoint): EndpointWorkers {
	return { id, settings: launcher };
}
