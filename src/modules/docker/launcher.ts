import { LOCAL } from "../../kernel/core/workers/hosts.ts";
import type { WorkerUsage } from "../../kernel/core/workers/worker-usage.ts";
import type { LauncherDependencies } from "../../kernel/launchers/definition.ts";
import {
	type Exit,
	type Handle,
	type Launcher,
	type LauncherHosts,
	PlatformUnavailable,
	type RoomQuery,
	type StraySearch,
	type WorkerCommand,
} from "../../kernel/launchers/launcher.ts";
import { machineGpus } from "../../kernel/launchers/machine-gpus.ts";
import { memoryByWorker } from "../../kernel/launchers/nvidia-smi.ts";
import { listeners, WatchedWorkers } from "../../kernel/launchers/watched-workers.ts";
import { LABELS } from "./container-options.ts";
import { hasMarks, ownContainer, removeOthers, serverOf } from "./container.ts";
import { isUnanswered, statusOf } from "./daemon-calls.ts";
import { type DockerHost, withTimeout } from "./hosts/host.ts";
import { type HostConfig, NO_HOSTS } from "./hosts/host-schema.ts";
import { type DockerHosts, dockerHosts } from "./hosts/hosts.ts";
import { lazyContent } from "./images/adapter-image.ts";
import { prePulls } from "./images/pre-pull.ts";
import { Starts } from "./starts.ts";
import { containerUsage } from "./usage.ts";
import { copyEnded, endOfWorker, endWorker, removeContainers } from "./worker-end.ts";
import { lostReason, type Spec, Worker } from "./worker.ts";

/**
 * The `docker` launcher (D25, D34, D44). A handle is `{container}`, an id or a name, with `host`, `url`, `hostGpus` and
 * `hostGpuMemoryGb` where they apply. Workers that wait for an image or a place are accepted (D45). Strays are removed
 * before the first start on a host and each time the host is reachable again. The container of a worker with an
 * adapter is the adapter's, by whose label that of its server is found.
 */
export class DockerLauncher extends WatchedWorkers<Worker, Spec> implements Launcher {
	readonly name = "docker";
	readonly hosts: LauncherHosts;
	readonly prepare: NonNullable<Launcher["prepare"]>;
	readonly #hosts: DockerHosts;
	readonly #lostAfterMs: number;
	readonly #handles;
	readonly #starts: Starts;
	readonly #early;
	readonly #usageOf = containerUsage();
	readonly #here;
	/** Mark of the service, set once workers of earlier runs were adopted. Only then are other containers strays. */
	#service: string | undefined;
	#removed = 0;

	constructor(d: LauncherDependencies & { hosts?: HostConfig | undefined }) {
		super(d);
		const { clock, log, serviceEnv, registryLogin, hosts: config = NO_HOSTS } = d;
		this.#lostAfterMs = config.lostAfterMs;
		this.#here = machineGpus(clock, serviceEnv);
		this.#handles = listeners<[workerId: string, Handle]>("handles of workers", log);
		this.#hosts = dockerHosts(config, {
			clock,
			env: serviceEnv,
			log,
			...(registryLogin && { registryLogin }),
			serviceId: () => this.#service,
			onReturn: (host) => this.#returned(host),
			onChecked: () => void this.#starts.resume(),
			onGpusRead: () => this.#starts.startWaiting(),
			adapterContent: lazyContent(),
		});
		this.#starts = new Starts({
			clock,
			hosts: this.#hosts,
			workers: this.workers,
			onNotice: (worker, notice) => this.notice(worker, notice),
			onHandle: (worker, handle) => this.#handles.call(worker.id, handle),
			onRunning: (worker, host, container) => void this.#watch(worker, host, container),
			onEnd: (worker, how) => void this.report(worker, how),
		});
		this.#early = prePulls({ clock, log, hostsOf: this.#hosts.named });
		this.prepare = this.#early.prepare;
		this.hosts = {
			views: () => this.#hosts.views(this.workers.values()),
			setDrained: (names) => {
				this.#hosts.setDrained(names);
				for (const worker of this.workers.values()) this.#leaveDrained(worker);
				this.#starts.startWaiting();
			},
		};
	}

	protected async begin(spec: Spec): Promise<Handle> {
		const { workerId, serviceId, settings } = spec;
		this.#service = serviceId;
		const worker = this.add(new Worker(workerId, { spec }));
		const starting = Promise.withResolvers<void>();
		worker.starting = starting.promise;
		try {
			return await this.#starts.start(worker, spec);
		} catch (error) {
			this.forget(worker);
			const { host } = worker.place ?? {};
			throw host ? failedOn(host, error, settings.hosts && `on host ${host.name}, `) : error;
		} finally {
			starting.resolve();
		}
	}

	async adopt(workerId: string, handle: Handle, serviceId: string): Promise<boolean> {
		const { container, host: name = LOCAL, url } = handle;
		if (typeof container !== "string" || container === "") return false;
		if (this.workers.get(workerId)?.container === container) return true;
		const host = this.#hosts.find(String(name));
		if (!host) {
			this.log(`worker ${workerId} was not adopted: host ${name} is not in the configuration any more`);
			return false;
		}
		await withTimeout(this.clock, host.checked());
		try {
			const inspected = await host.daemon.inspect(container);
			const { Id, State } = inspected;
			if (!hasMarks(inspected, { serviceId, workerId })) return false;
			if (this.workers.get(workerId)?.container === Id) return true;
			const server = serverOf(inspected);
			// A server that ended meanwhile ends the worker as soon as it is watched.
			if (State.Running && url === host.settings.workerUrl)
				return this.#adoptOn(host, { workerId, handle, id: Id, server });
			const { clock, logDir } = this;
			if (!State.Running) await copyEnded(clock, host.daemon, { logDir, workerId, container: Id, server });
			await removeContainers(host, { container, server });
		} catch (error) {
			if (statusOf(error) === 404) return false;
			// The worker's pings show whether it runs, until the daemon answers again.
			this.log(`worker ${workerId} is adopted without an answer: ${host.sentence(error)}`);
			return this.#adoptOn(host, { workerId, handle, id: container, unprovenOf: serviceId });
		}
		return false;
	}

	override async stop(workerId: string, graceMs: number): Promise<void> {
		const worker = this.workers.get(workerId);
		if (!worker) return;
		worker.unwanted.abort();
		await worker.starting;
		if (!this.isWatched(worker)) return;
		if (!worker.place) return await this.report(worker, {});
		const lost = lostReason(worker.place.host, this.#lostAfterMs);
		// The service revokes its token. Its container becomes a stray when the host returns.
		if (lost?.isLost === true) return await this.report(worker, { reason: { ...lost.reason, crash: false } });
		if (lost) this.notice(worker, { state: "ending", ...lost.reason });
		await super.stop(workerId, graceMs);
	}

	async run(workerId: string, { command, timeoutMs }: WorkerCommand): Promise<void> {
		const worker = this.workers.get(workerId);
		const { container, place } = worker ?? {};
		if (!worker || container === undefined || !place) throw new Error("it has ended.");
		requireProof(worker, place.host);
		const program = JSON.stringify(command[0]);
		const over = new AbortController();
		const late = new Error(`${program} took longer than ${timeoutMs} ms.`);
		const done = new AbortController();
		void this.clock.sleep(timeoutMs, done.signal).then(() => over.abort(late));
		try {
			const { code, output } = await place.host.daemon.exec(container, command, over.signal);
			if (code !== 0) throw new Error(`${program} exited with code ${code}${output === "" ? "." : `: ${output}`}`);
		} finally {
			done.abort();
		}
	}

	async list(): Promise<string[]> {
		const ids: string[] = [];
		for (const [host, own] of Map.groupBy(this.workers.values(), ({ place }) => place?.host)) {
			const running = own.filter(({ container }) => container !== undefined);
			if (!host || running.length === 0) continue;
			const listed = host.isReachable ? await host.daemon.list({ label: LABELS.worker }) : undefined;
			const present = new Set(listed?.map(({ Labels }) => Labels[LABELS.worker]));
			ids.push(...running.map(({ id }) => id).filter((id) => !listed || present.has(id)));
		}
		return ids;
	}

	async removeStrays({ serviceId, recorded }: StraySearch): Promise<number> {
		this.#service = serviceId;
		this.#removed = 0;
		// Most services use no containers, so their daemon is not called.
		if (recorded.length > 0) this.#hosts.find(LOCAL);
		// A host that was checked for adoption was not swept yet.
		const checks = [...this.#hosts.all()].map((host) => (host.isReachable ? host.recheck() : host.checked()));
		await withTimeout(this.clock, Promise.all(checks));
		return this.#removed;
	}

	roomFor({ waiting, stoppable, leaving }: RoomQuery): string[] {
		const spec = this.workers.get(waiting.id)?.spec;
		if (!spec || waiting.code !== "unschedulable") return [];
		const others = new Set([...stoppable, ...leaving].map(({ id }) => id));
		const staying = [...this.workers.values()].filter(({ id }) => !others.has(id));
		const may = stoppable.flatMap(({ id }) => this.workers.get(id) ?? []);
		return this.#hosts.room(spec, { stoppable: may, staying }).map(({ id }) => id);
	}

	usage(ids: readonly { id: string }[]): Promise<ReadonlyMap<string, WorkerUsage>> {
		return this.#usageOf([...this.workers.values()].filter(({ id }) => ids.some((each) => each.id === id)));
	}

	/** Measures only containers of this machine's daemon: process ids of other hosts are not valid here. */
	async gpuMemory(ids: readonly string[]): Promise<Map<string, Map<string, number>>> {
		const workers = ids.flatMap((id) => this.workers.get(id) ?? []).filter(({ place }) => place?.host.isThisMachine);
		const workerOf = new Map<number, string>();
		await Promise.all(
			workers.map(async ({ id, place, userContainer: container }) => {
				if (!place?.host.isReachable || container === undefined) return;
				for (const [, pid] of await place.host.daemon.top(container).catch(() => [])) workerOf.set(Number(pid), id);
			}),
		);
		const processes = workerOf.size > 0 ? await this.#here.processes() : [];
		return memoryByWorker(processes, (pid) => workerOf.get(pid));
	}

	onHandle(listener: (workerId: string, handle: Handle) => void): void {
		this.#handles.add(listener);
	}

	override async close(): Promise<void> {
		await super.close();
		this.#early.close();
		const endings = [...this.workers.values()].map(({ ending, reported }) =>
			ending!.then(() => reported.promise).catch(() => {}),
		);
		void Promise.all(endings).then(() => this.#hosts.close());
	}

	protected async end(worker: Worker): Promise<void> {
		const { host } = worker.place!;
		requireProof(worker, host);
		await endWorker(this.clock, host.daemon, worker).catch((error: unknown) => {
			throw failedOn(host, error);
		});
	}

	/** Reports the end of a worker; a waiting worker may then start. */
	protected override async report(worker: Worker, how: Partial<Exit>): Promise<void> {
		this.#starts.notePlace(worker);
		await super.report(worker, how);
		this.#starts.startWaiting();
	}

	#adoptOn(
		host: DockerHost,
		q: { workerId: string; handle: Handle; id: string; server?: string | undefined; unprovenOf?: string },
	): true {
		const { hostGpus, hostGpuMemoryGb: memory } = q.handle;
		const gpus = hostGpus === undefined ? [] : String(hostGpus).split(",");
		const place = { host, gpus, memoryGb: memory === undefined ? undefined : Number(memory) };
		const worker = this.add(new Worker(q.workerId, { container: q.id, place }));
		worker.server = q.server;
		worker.unprovenOf = q.unprovenOf;
		void this.#watch(worker, host, q.id);
		this.#leaveDrained(worker);
		return true;
	}

	async #watch(worker: Worker, host: DockerHost, container: string): Promise<void> {
		const { id: workerId, over, left } = worker;
		const { clock, logDir, log } = this;
		const watched = { worker, host, container, workerId, left: left.signal, clock, logDir, log };
		if (worker.unprovenOf !== undefined) {
			const own = await ownContainer(worker.unprovenOf, watched);
			if (own === undefined) return;
			if (own === "foreign") {
				await this.report(worker, {});
				// Its server may be there without it.
				return void host.recheck();
			}
			worker.server = serverOf(own);
			worker.unprovenOf = undefined;
		}
		const end = await endOfWorker(watched);
		if (!end || left.signal.aborted) return;
		over.abort();
		await removeContainers(host, { container, server: worker.server }).catch((error: unknown) => {
			log(`the container of worker ${workerId} was not removed: ${String(error)}`);
			void host.recheck();
		});
		await this.report(worker, end);
	}

	async #returned(host: DockerHost): Promise<void> {
		if (this.#service === undefined) return;
		this.#removed += await removeOthers(host, this.#service, (workerId) => this.workers.has(workerId));
	}

	#leaveDrained(worker: Worker): void {
		const { place } = worker;
		if (!place || !this.#hosts.isDrained(place.host)) return;
		const message = `Host ${place.host.name} is drained.`;
		this.notice(worker, { state: "ending", code: "node_drained", message });
	}
}

/** A handle alone may name the container of another service. */
function requireProof({ unprovenOf }: Worker, host: DockerHost): void {
	if (unprovenOf === undefined) return;
	throw new PlatformUnavailable(`host ${host.name} has not shown yet that this service started its container`);
}

function failedOn(host: DockerHost, error: unknown, prefix = ""): Error {
	const Kind = isUnanswered(error) ? PlatformUnavailable : Error;
	return new Kind(`${prefix}${host.sentence(error)}`, { cause: error });
}
