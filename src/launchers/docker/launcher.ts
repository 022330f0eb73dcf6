/**
 * Runs workers as Docker containers, found by their labels, on one or several hosts. They outlive the
 * service and lost connections (D25, D34, D44).
 */
import { LOCAL, NO_HOSTS } from "../../core/hosts.ts";
import type { ExitReason, WorkerReason, WorkerReasonCode } from "../../core/workers/worker-reason.ts";
import type { LauncherDependencies } from "../definition.ts";
import { type Exit, type Handle, type Launcher, type Notice, PlatformUnavailable } from "../launcher.ts";
import { listeners } from "../listeners.ts";
import { logPath, pruneLogs, tail } from "../log-files.ts";
import { containerName, containerOptions, LABELS } from "./container-options.ts";
import { begun, endContainer, endOf, remove, removeOthers } from "./container.ts";
import { isUnanswered, statusOf, Unreachable } from "./daemon.ts";
import { type DockerHost, patiently } from "./host.ts";
import { dockerHosts, type PlacedWorker } from "./hosts.ts";
import { prePullsOnHosts } from "./images/pre-pull.ts";
import { containerContext, serviceAddress } from "./network.ts";
import { copyOutput } from "./output.ts";
import { containerUsage } from "./usage.ts";
import { handleOf, lostReason, newWorker, type Spec, type Worker } from "./worker.ts";

/**
 * The `docker` launcher (D25). A handle is `{container}`, an id or a name, with `host`, `url` and
 * `hostGpus` on a host other than `local`; it is empty while the worker waits for a host. A worker
 * whose image must be pulled is accepted and waits (D45). Containers of ended workers are removed;
 * their output stays in `logDir`. Strays are removed before the first start on a host at the latest,
 * and each time that a host is reachable again.
 */
export function dockerLauncher({
	clock,
	logDir,
	serviceEnv,
	log,
	registryLogin,
	hosts: config = NO_HOSTS,
}: LauncherDependencies): Launcher {
	const workers = new Map<string, Worker>();
	const exits = listeners<[Exit]>("exits of workers", log);
	const notices = listeners<[Notice]>("notices of workers", log);
	const handles = listeners<[workerId: string, Handle]>("handles of workers", log);
	/** Known once workers of earlier runs were adopted: containers of others are strays then. */
	let service: string | undefined;
	let removed = 0;
	let closed = false;

	const hosts = dockerHosts(config, {
		clock,
		env: serviceEnv,
		log,
		...(registryLogin && { registryLogin }),
		serviceId: () => service,
		async onReturn(host) {
			if (service === undefined) return;
			removed += await removeOthers(host.daemon, service, (workerId) => workers.has(workerId));
		},
		onChecked: () => void readyWaiting(),
	});

	const usageOf = containerUsage();
	const early = prePullsOnHosts({ clock, log, hostsOf: hosts.named });

	const placed = (): PlacedWorker[] =>
		[...workers.values()].flatMap(({ id, place }) => (place ? [{ id, ...place }] : []));

	function add(id: string, rest: Parameters<typeof newWorker>[1]): Worker {
		const worker = newWorker(id, rest);
		workers.set(id, worker);
		return worker;
	}

	async function watch(worker: Worker, host: DockerHost, container: string): Promise<void> {
		const { id, over, left } = worker;
		const end = await endOf({
			host,
			container,
			workerId: id,
			left: left.signal,
			clock,
			logDir,
			log,
		});
		if (!end || left.signal.aborted) return;
		over.abort();
		await remove(host.daemon, container).catch((error: unknown) => {
			log(`the container of worker ${id} was not removed: ${String(error)}`);
			void host.recheck();
		});
		finish(worker, end);
	}

	function finish(worker: Worker, how: { code?: number; reason?: ExitReason }): void {
		const { id, reported } = worker;
		workers.delete(id);
		if (!closed) exits.call({ workerId: id, ...how, lastOutput: tail(logPath(logDir, id)) });
		reported.resolve();
		placeWaiting();
	}

	function notice(each: Notice): void {
		if (!closed) notices.call(each);
	}

	/** Reserves a place on a host, or returns why there is none. */
	function findPlace(worker: Worker, spec: Spec): { host: DockerHost } | { reason: string } {
		const found = hosts.place(spec, placed());
		if ("reason" in found) return found;
		const host = hosts.get(found.host)!;
		worker.place = { host, gpus: found.gpus };
		return { host };
	}

	/** GPUs of a host that has returned may have to be read first. */
	async function readyWaiting(): Promise<void> {
		for (const { spec, isWaiting } of workers.values()) if (spec && isWaiting === true) await hosts.ready(spec);
		placeWaiting();
	}

	/** Starts workers that wait for a host where one has a place now, first come first served. */
	function placeWaiting(): void {
		if (closed) return;
		for (const worker of workers.values()) {
			const { id: workerId, spec } = worker;
			if (!spec || worker.isWaiting !== true) continue;
			const found = findPlace(worker, spec);
			if ("reason" in found) {
				notice({ workerId, state: "waiting", code: "unschedulable", message: found.reason });
				continue;
			}
			worker.isWaiting = false;
			handles.call(workerId, handleOf(worker, containerName(workerId)));
			worker.starting = startAccepted(worker, spec, found);
		}
	}

	/** Starts a worker that was accepted, after a pull of its image if that is needed. */
	async function startAccepted(
		worker: Worker,
		spec: Spec,
		{ host, pulls }: { host: DockerHost; pulls?: true },
	): Promise<void> {
		const { id: workerId, unwanted } = worker;
		let code: WorkerReasonCode = "image_pull";
		try {
			if (pulls ?? (await mustPull(spec, host)))
				await host.pulls.pull(spec.settings.image, {
					signal: unwanted.signal,
					onProgress: (reason) => notice({ workerId, state: "waiting", ...reason }),
				});
			code = "start_failed";
			await run(worker, spec, host);
			notice({ workerId, state: "running" });
		} catch (error) {
			const message = code === "image_pull" ? (error as Error).message : host.sentence(error);
			const reason = { code, message, crash: !isUnanswered(error) };
			finish(worker, unwanted.signal.aborted ? {} : { reason });
		}
	}

	/** If its daemon does not answer, the start says so. */
	async function mustPull({ settings }: Spec, { pulls }: DockerHost): Promise<boolean> {
		return await pulls.mustPull(settings.image, settings.pullPolicy).catch(() => false);
	}

	/** Starts a worker on the best host, or lets it wait for one. */
	async function startNow(worker: Worker, spec: Spec): Promise<Handle> {
		await hosts.ready(spec);
		if (spec.settings.hosts === undefined) {
			const local = hosts.get(LOCAL)!;
			if (!local.isReachable()) await local.recheck();
			if (!local.isReachable()) throw new Unreachable(local.view().fault);
		}
		const { id: workerId } = worker;
		const found = findPlace(worker, spec);
		if ("host" in found) {
			const { host } = found;
			if (!(await mustPull(spec, host))) return handleOf(worker, await run(worker, spec, host));
			worker.starting = startAccepted(worker, spec, { host, pulls: true });
			return handleOf(worker, containerName(workerId));
		}
		worker.isWaiting = true;
		notice({ workerId, state: "waiting", code: "unschedulable", message: found.reason });
		return {};
	}

	/** Starts its container and watches it; returns its id. */
	async function run(worker: Worker, spec: Spec, host: DockerHost): Promise<string> {
		const [{ daemon }, { gpus }] = [host, worker.place!];
		try {
			const url = serviceAddress(host, spec.url);
			const network = await containerContext(daemon, spec.settings, url);
			const context = { ...network, gpus, ...(url !== spec.url && { url }) };
			const container = await daemon.create(containerOptions(spec, context));
			try {
				await daemon.start(container);
				await begun(clock, daemon, container);
			} catch (error) {
				await remove(daemon, container).catch(() => void host.recheck());
				throw error;
			}
			worker.container = container;
			void watch(worker, host, container);
			return container;
		} catch (error) {
			// Without an answer it may exist.
			if (statusOf(error) === undefined) void host.recheck();
			throw error;
		}
	}

	/** Ends a container or joins the stop in progress; the shorter grace applies. */
	function end(worker: Worker, host: DockerHost, graceMs: number): Promise<void> {
		worker.graceLeftMs = Math.min(worker.graceLeftMs, graceMs);
		worker.ending ??= endContainer(clock, host.daemon, worker).catch((error: unknown) => {
			worker.ending = undefined;
			const why = host.sentence(error);
			const Kind = isUnanswered(error) ? PlatformUnavailable : Error;
			throw new Kind(`worker ${worker.id} could not be ended: ${why}`, { cause: error });
		});
		return worker.ending;
	}

	/**
	 * The worker is to be stopped, and its host is unreachable for so long that it counts as lost. The
	 * service revokes its token; its container is a stray once the host returns.
	 */
	function giveUp(worker: Worker, reason: WorkerReason): void {
		for (const each of [worker.left, worker.over]) each.abort();
		finish(worker, { reason: { ...reason, crash: false } });
	}

	/** Their workers finish their jobs and are replaced elsewhere. */
	function leaveDrained(worker: Worker): void {
		const { id: workerId, place } = worker;
		if (!place || !hosts.isDrained(place.host)) return;
		const message = `Host ${place.host.name} is drained.`;
		notice({ workerId, state: "ending", code: "node_drained", message });
	}

	return {
		name: "docker",

		async start(spec: Spec) {
			const { workerId, endpoint, settings } = spec;
			await pruneLogs(logDir, workers.keys(), clock.wall());
			if (workers.has(workerId)) throw new Error(`worker ${workerId} already runs`);
			service = spec.serviceId;
			const worker = add(workerId, { spec });
			const starting = Promise.withResolvers<void>();
			worker.starting = starting.promise;
			try {
				return await startNow(worker, spec);
			} catch (error) {
				workers.delete(workerId);
				const { host } = worker.place ?? {};
				const on = settings.hosts && host ? `on host ${host.name}, ` : "";
				const why = host?.sentence(error) ?? (error as Error).message;
				const Kind = isUnanswered(error) ? PlatformUnavailable : Error;
				throw new Kind(`cannot start a worker of endpoint "${endpoint}": ${on}${why}`, { cause: error });
			} finally {
				starting.resolve();
			}
		},

		async adopt(workerId, handle) {
			const { container, host: name = LOCAL, url, hostGpus } = handle;
			if (typeof container !== "string" || container === "") return false;
			const present = workers.get(workerId);
			if (present?.container === container) return true;
			const host = hosts.find(String(name));
			if (!host) {
				log(`worker ${workerId} was not adopted: host ${name} is not in the configuration any more`);
				return false;
			}
			const watchFrom = (id: string): true => {
				const gpus = hostGpus === undefined ? [] : String(hostGpus).split(",");
				const worker = add(workerId, { container: id, place: { host, gpus } });
				void watch(worker, host, id);
				leaveDrained(worker);
				return true;
			};
			await patiently(clock, host.checked());
			try {
				const { Id, Config, State } = await host.daemon.inspect(container);
				if (Config.Labels[LABELS.worker] !== workerId) return false;
				if (workers.get(workerId)?.container === Id) return true;
				if (State.Running && url === host.settings.workerUrl) return watchFrom(Id);
				const { signal } = new AbortController();
				if (!State.Running) await copyOutput(host.daemon, Id, { logDir, workerId, signal });
				await remove(host.daemon, container);
			} catch (error) {
				if (statusOf(error) === 404) return false;
				// Its pings show whether it runs; the daemon decides when it answers again.
				log(`worker ${workerId} is adopted without an answer: ${host.sentence(error)}`);
				return watchFrom(container);
			}
			return false;
		},

		async stop(workerId, graceMs) {
			const worker = workers.get(workerId);
			if (!worker) return;
			worker.unwanted.abort();
			await worker.starting;
			if (!workers.has(workerId)) return;
			if (!worker.place) return finish(worker, {});
			const { host } = worker.place;
			const lost = lostReason(host, config.lostAfterMs);
			if (lost?.isLost === true) return giveUp(worker, lost.reason);
			if (lost) notice({ workerId, state: "ending", ...lost.reason });
			await end(worker, host, graceMs);
			await worker.reported.promise;
		},

		async list() {
			const ids: string[] = [];
			for (const [host, own] of Map.groupBy(workers.values(), ({ place }) => place?.host)) {
				const running = own.filter(({ container }) => container !== undefined);
				if (!host || running.length === 0) continue;
				const listed = host.isReachable() ? await host.daemon.list({ label: LABELS.worker }) : undefined;
				const there = new Set(listed?.map(({ Labels }) => Labels[LABELS.worker]));
				ids.push(...running.map(({ id }) => id).filter((id) => !listed || there.has(id)));
			}
			return ids;
		},

		async removeStrays({ serviceId, recorded }) {
			service = serviceId;
			removed = 0;
			// Most services use no containers: do not call their daemon.
			if (recorded.length > 0) hosts.find(LOCAL);
			const checks = [...hosts.all()].map((host) =>
				// One that was checked already, to adopt workers, was not swept.
				host.isReachable() ? host.recheck() : host.checked(),
			);
			// Others are swept when they are reachable.
			await patiently(clock, Promise.all(checks));
			return removed;
		},

		usage: (ids) => usageOf([...workers.values()].filter(({ id }) => ids.some((each) => each.id === id))),

		hosts: {
			views: () => hosts.views(placed()),
			setDrained(names) {
				hosts.setDrained(names);
				for (const worker of workers.values()) leaveDrained(worker);
				placeWaiting();
			},
		},

		prepare: early.prepare,

		onExit(listener) {
			exits.add(listener);
		},

		onNotice(listener) {
			notices.add(listener);
		},

		onHandle(listener) {
			handles.add(listener);
		},

		async close() {
			closed = true;
			early.close();
			const endings: Promise<unknown>[] = [];
			for (const worker of workers.values()) {
				if (worker.ending) {
					endings.push(worker.ending.then(() => worker.reported.promise).catch(() => {}));
					continue;
				}
				worker.left.abort();
				workers.delete(worker.id);
			}
			void Promise.all(endings).then(() => hosts.close());
		},
	};
}
