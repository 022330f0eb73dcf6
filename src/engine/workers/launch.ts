/** Starts, takes over and stops managed workers; each is stored before it is counted on (D25, D34). */
import type { Endpoint } from "../../core/endpoint.ts";
import { withoutSecrets, type WorkerExit } from "../../core/workers/ended-worker.ts";
import type { WorkerReason, WorkerReasonCode } from "../../core/workers/worker-reason.ts";
import { hex } from "../../ids.ts";
import { isManaged, isShared } from "../../launchers/index.ts";
import { type Exit, type Handle, type Launcher, type Notice, PlatformUnavailable } from "../../launchers/launcher.ts";
import type { WorkerTokens } from "../access/worker-tokens.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import { GPUS, LAUNCHED_AS, takeOver, type TakeOver } from "./take-over.ts";
import { launchHash, type ServiceAddresses, WORKER_ID_BYTES, workerSpec } from "./worker-spec.ts";
import type { EndedWorkers } from "./ended-workers.ts";
import { endPolls, type Worker, type WorkerRegistry } from "./worker-registry.ts";

/** Time from the 204 of its polls to the signal, ms: the responses must be out first (protocol B.8). */
const POLLS_OUT_MS = 20;

export interface WorkerLauncher extends TakeOver {
	/** Starts a worker, in the registry from the moment of the call. Throws when it cannot start. */
	start(endpoint: Endpoint, gpus?: readonly number[]): Promise<void>;
	/**
	 * No more jobs, polls ended, a signal, and after `graceMs` killed. `code`: of the fault. `isSurplus`:
	 * it is only not needed; if its platform does not answer, it takes jobs again.
	 */
	stop(worker: Worker, q: StopRequest): Promise<void>;
	/** The worker gets no more jobs, and is to be stopped once it holds none (D28). */
	retire(worker: Worker, why: string): void;
	/** Notifies the launcher when the worker has begun or ceased to hold jobs. */
	reportBusy(worker: Worker): void;
	/** Lets launchers prepare for the endpoints that this server scales; see `Launcher.prepare`. */
	prepare(report: (endpoint: string, reason: WorkerReason | undefined) => void): void;
	/** Whether the worker is being stopped, or is to be. */
	isLeaving(worker: Worker): boolean;
	isStopping(worker: Worker): boolean;
	/** Whether a launched worker can run on after this server's end until a start takes it over. */
	outlivesService(worker: Worker): boolean;
	close(): Promise<void>;
}

interface StopRequest {
	why: string;
	graceMs: number;
	code?: WorkerReasonCode;
	isSurplus?: boolean;
}

export interface LauncherDeps
	extends Pick<EngineContext, "clock" | "now" | "random" | "events" | "store" | "background"> {
	registry: WorkerRegistry;
	ended: EndedWorkers;
	tokens: WorkerTokens;
	/** Launchers by type. */
	launchers: ReadonlyMap<string, Launcher>;
	/** Known once the service listens: nothing is launched before. */
	address: Promise<ServiceAddresses>;
	endpoints: Pick<Endpoints, "all" | "has">;
	cluster: Pick<Cluster, "id" | "shared" | "scales" | "others">;
	/** The end of a worker's log. */
	lastOutput: (worker: string) => Promise<string>;
	/** The machine of a worker, where it is known. */
	hostOf: (launcher: string, handle: Handle) => string | undefined;
}

function failedStart({ message }: Error): WorkerExit & { lastOutput: string } {
	return { reason: { code: "start_failed", message, crash: true }, lastOutput: "" };
}

export function workerLauncher(d: LauncherDeps): WorkerLauncher {
	const { store, registry } = d;
	/** Ids of workers, and whether all that asked for the stop were their surplus. */
	const stopping = new Map<string, boolean>();
	/** Starts in progress by worker. */
	const starts = new Map<string, Promise<void>>();
	/** Stores the handle that a worker gets after its start. */
	const recorders = new Map<string, (handle: Handle) => Promise<void>>();

	const find = (workerId: string): Worker | undefined =>
		[...registry.all()].find(({ id, managed }) => managed && id === workerId);

	async function exited({ workerId, code, signal, reason, ...exit }: Exit): Promise<void> {
		stopping.delete(workerId);
		recorders.delete(workerId);
		const worker = find(workerId);
		if (!worker) return;
		const { endpoint } = worker;
		const lastOutput = withoutSecrets(exit.lastOutput, variablesOf(worker));
		// While it is still in the registry: listeners look it up there.
		d.events.emit("worker.exited", {
			endpoint,
			worker: workerId,
			code,
			signal,
			lastOutput,
			...(reason && { reason }),
		});
		endPolls(worker);
		registry.forget(worker);
		await d.ended.record(worker, { code, signal, reason, lastOutput });
		await d.tokens.revoke(workerId);
	}

	/** Those of its endpoint as it is now, where an earlier run of the service has started it. */
	function variablesOf({ env, endpoint }: Worker): Readonly<Record<string, string>> {
		return env ?? [...d.endpoints.all()].find((each) => each.endpoint.id === endpoint)?.endpoint.env ?? {};
	}

	function noticed(notice: Notice): void {
		const worker = find(notice.workerId);
		if (!worker) return;
		const { endpoint, id, notice: before } = worker;
		if (notice.state === "running") {
			delete worker.notice;
			if (before?.state === "waiting") worker.startingSince = d.now();
			return;
		}
		const { workerId: _, ...now } = notice;
		worker.notice = now;
		if (now.state === "ending") return retire(worker, now.message);
		if (before?.code === now.code && before.message === now.message) return;
		d.events.emit("worker.waiting", {
			endpoint,
			worker: id,
			reason: now.code,
			message: now.message,
		});
	}

	for (const launcher of d.launchers.values()) {
		launcher.onHandle?.((id, handle) => {
			const recorded = recorders.get(id)?.(handle);
			if (recorded) d.background.run(`handle of worker ${id}`, recorded);
		});
		launcher.onExit((exit) => d.background.run(`end of worker ${exit.workerId}`, exited(exit)));
		launcher.onNotice?.(noticed);
	}

	async function launch(endpoint: Endpoint, worker: Worker, launcher: Launcher): Promise<void> {
		const { id, gpus } = worker;
		const addresses = await d.address;
		const { url, serviceId } = isShared(endpoint.launcher.type) ? addresses.shared : addresses.own;
		const row = {
			id,
			endpoint: endpoint.id,
			launcher: endpoint.launcher.type,
			url,
			server: d.cluster.id,
			createdAt: worker.createdAt,
		};
		const launchedAs = launchHash(endpoint);
		worker.launchedAs = launchedAs;
		worker.env = endpoint.env;
		/** A server that was paused may learn late that it does not. */
		const expectLead = (): void => {
			if (!d.cluster.scales(endpoint.id))
				throw new Error(`another server may start the workers of endpoint ${endpoint.id} now`);
		};
		const record = (handle: Handle): Promise<void> => {
			worker.host = d.hostOf(worker.launcher, handle);
			return store.workers.put({
				...row,
				handle: JSON.stringify({
					...handle,
					[LAUNCHED_AS]: launchedAs,
					...(gpus.length > 0 && { [GPUS]: gpus.join(",") }),
				}),
			});
		};
		try {
			const token = await d.tokens.issue({ endpoint: endpoint.id, worker: id });
			await store.workers.put(row);
			expectLead();
			let later: Handle | undefined;
			recorders.set(id, (handle) => record((later = handle)));
			const handle = await launcher.start(workerSpec({ endpoint, id, token, gpus, url, serviceId }));
			expectLead();
			await record(later ?? handle);
			d.events.emit("worker.launched", { endpoint: endpoint.id, worker: id });
		} catch (error) {
			registry.forget(worker);
			recorders.delete(id);
			await launcher.stop(id, 0);
			const isExplained = d.cluster.scales(endpoint.id) && !(error instanceof PlatformUnavailable);
			if (isExplained) await d.ended.record(worker, failedStart(error as Error));
			else await store.workers.remove({ id });
			await d.tokens.revoke(id);
			throw error;
		}
	}

	const stop: WorkerLauncher["stop"] = async (worker, { why, graceMs, code, isSurplus = false }) => {
		const launcher = d.launchers.get(worker.launcher);
		if (!launcher || !worker.managed) return;
		worker.draining = true;
		worker.ending ??= { text: `it was stopped: ${why}`, code };
		stopping.set(worker.id, isSurplus && stopping.get(worker.id) !== false);
		d.events.emit("worker.stopping", { endpoint: worker.endpoint, worker: worker.id, why });
		endPolls(worker);
		if (graceMs > 0) await d.clock.sleep(POLLS_OUT_MS);
		// The launcher does not know a worker yet that is only just being started.
		await starts.get(worker.id)?.catch(() => {});
		try {
			await launcher.stop(worker.id, graceMs);
		} catch (error) {
			worker.unstopped = { why, at: d.now() };
			if (error instanceof PlatformUnavailable && stopping.get(worker.id)) return resume(worker);
			throw error;
		}
	};

	/** Its stop is withdrawn: it lives, and jobs may come that nothing else can take now. */
	function resume(worker: Worker): void {
		stopping.delete(worker.id);
		worker.draining = false;
		delete worker.ending;
		if (worker.notice?.state === "ending") delete worker.notice;
	}

	const isLeaving = (worker: Worker): boolean => worker.draining || stopping.has(worker.id);

	function retire(worker: Worker, why: string): void {
		if (!worker.managed || isLeaving(worker)) return;
		worker.draining = true;
		worker.retiring = why;
		endPolls(worker);
		d.events.emit("worker.draining", { endpoint: worker.endpoint, worker: worker.id, why });
	}

	const others = takeOver({ ...d, exited, stop });

	return {
		async start(endpoint, gpus = []) {
			const launcher = d.launchers.get(endpoint.launcher.type);
			if (!launcher || !isManaged(endpoint.launcher.type))
				throw new Error(`Endpoint ${endpoint.id} launches no workers.`);
			const id = `${endpoint.id}-${hex(d.random(WORKER_ID_BYTES))}`;
			const worker = registry.meet({
				id,
				endpoint: endpoint.id,
				launcher: endpoint.launcher.type,
				ready: false,
				gpus,
				now: d.now(),
			});
			const start = launch(endpoint, worker, launcher).finally(() => starts.delete(id));
			starts.set(id, start);
			await start;
		},
		stop,
		retire,
		reportBusy(worker) {
			const busy = worker.held.size > 0;
			if (busy === worker.reportedBusy) return;
			worker.reportedBusy = busy;
			d.launchers.get(worker.launcher)?.setBusy?.(worker.id, busy);
		},
		prepare(report) {
			const scaled = [...d.endpoints.all()].map(({ endpoint }) => endpoint).filter(({ id }) => d.cluster.scales(id));
			for (const [type, launcher] of d.launchers)
				launcher.prepare?.(
					scaled
						.filter((endpoint) => endpoint.launcher.type === type)
						.map(({ id, launcher: settings }) => ({ id, settings })),
					report,
				);
		},
		restore: others.restore,
		isComplete: others.isComplete,
		releaseAll: others.releaseAll,
		isLeaving,
		isStopping: ({ id }) => stopping.has(id),
		outlivesService: ({ launcher }) =>
			// Other servers start workers in the place of those that they cannot take over.
			isShared(launcher) || (!d.cluster.others() && d.launchers.get(launcher)?.endsWithService !== true),
		async close() {
			for (const launcher of d.launchers.values()) await launcher.close();
		},
	};
}
