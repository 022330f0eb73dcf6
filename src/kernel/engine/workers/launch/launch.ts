/**
 * Starts, takes over and stops managed workers (D25, D34).
 *
 * A worker is in the registry from the request on, so that the autoscaler counts it. Its row is stored
 * before the launcher is called, and again with the handle that the launcher returns: a service that dies
 * in between finds the row at its next start and takes the worker over or ends it (`take-over.ts`).
 *
 * What is remembered: starts in progress, since a launcher cannot stop what it does not know yet; how to store
 * a handle that a platform reports after the start, such as the node of a Pod. What happens to a worker's state
 * is in `../worker-transitions.ts`.
 *
 * What can go wrong: another server takes the lead of the endpoint during a start, so the lead is checked
 * before and after the launcher's call; a platform does not answer, which is no crash, and a stop of a
 * surplus worker is then withdrawn; an exit is reported while its start has not returned; a start cannot be
 * stored, and the worker that runs already counts, with its GPUs, until it has been ended. The end of a
 * worker is recorded only by its exit. No timer is here: the autoscaler repeats what is missing every
 * second, and `../silent-workers.ts` ends what a launcher has lost sight of.
 */
import type { Endpoint } from "../../../core/endpoints/endpoint.ts";
import { moduleMembers } from "../../../core/endpoints/endpoint-member.ts";
import type { AssignedGpus } from "../../../core/workers/gpu-part.ts";
import type { WorkerReason, WorkerReasonCode } from "../../../core/workers/worker-reason.ts";
import { hex } from "../../../lib/ids.ts";
import { isManaged, isShared } from "../../../launchers/index.ts";
import {
	type Exit,
	type Handle,
	type Launcher,
	type Notice,
	PlatformUnavailable,
	type RoomQuery,
	STARTED_BY,
	type WorkerAdapter,
} from "../../../launchers/launcher.ts";
import type { AddedVariables } from "../../context.ts";
import { LAUNCHED_AS, launchHash } from "../../endpoints/launch-hash.ts";
import type { EndedWorkers } from "../ended-workers.ts";
import { hiddenMember, shownOutput } from "./shown-text.ts";
import { gpuMembers, hostOf, TakeOver } from "./take-over.ts";
import { endPolls, type Worker } from "../worker-registry.ts";
import {
	closeWorker,
	isStopping,
	markRetiring,
	markStopping,
	noteUnstopped,
	setNotice,
	setWarmup,
	withdrawRetiring,
	withdrawStop,
} from "../worker-transitions.ts";
import { WORKER_ID_BYTES, workerSpec } from "./worker-spec.ts";
import type { WorkersContext } from "../workers-context.ts";

/** Time from the 204 of its polls to the signal, ms: the responses must be out first (protocol B.8). */
export const POLLS_OUT_MS = 20;

interface StopRequest {
	why: string;
	/** Time from the signal until the worker is killed. */
	graceMs: number;
	code?: WorkerReasonCode;
	/** The worker is only not needed; if its platform does not answer, it takes jobs again. */
	isSurplus?: boolean;
}

interface Deps extends WorkersContext {
	ended: EndedWorkers;
	/** See `gpus.ts`. */
	gpuAddresses: (numbers: readonly number[]) => Promise<(number | string)[]>;
}

export class WorkerLauncher {
	readonly others: TakeOver;
	readonly #d: Deps;
	/** Starts in progress by worker. */
	readonly #starts = new Map<string, Promise<void>>();
	/** Ids of workers whose start has failed and that may run: they have their GPUs, and count, until they have ended. */
	readonly #failed = new Set<string>();
	/** Stores the handle that a worker gets after its start. */
	readonly #recorders = new Map<string, (handle: Handle) => Promise<void>>();

	constructor(d: Deps) {
		this.#d = d;
		this.others = new TakeOver({
			...d,
			exited: (exit) => this.#exited(exit),
			stop: (worker, q) => this.stop(worker, q),
		});
		for (const launcher of d.launchers.values()) {
			launcher.onHandle?.((id, handle) => {
				const recorded = this.#recorders.get(id)?.(handle);
				if (recorded) d.background.run(`handle of worker ${id}`, recorded);
			});
			launcher.onExit((exit) => d.background.run(`end of worker ${exit.workerId}`, this.#exited(exit)));
			launcher.onNotice?.((notice) => this.#noticed(notice));
		}
	}

	/** Starts a worker, in the registry from the moment of the call. Throws when it cannot start. */
	async start(
		endpoint: Endpoint,
		gpus: AssignedGpus = { gpus: [] },
		{ roomSince }: Pick<Worker, "roomSince"> = {},
	): Promise<void> {
		const { launchers, registry, random, now } = this.#d;
		const { type } = endpoint.launcher;
		const launcher = launchers.get(type);
		if (!launcher || !isManaged(type)) throw new Error(`Endpoint ${endpoint.id} launches no workers.`);
		const id = `${endpoint.id}-${hex(random(WORKER_ID_BYTES))}`;
		const assigned = { gpus: gpus.gpus, gpuMemoryGb: endpoint.gpuMemoryGb, roomSince };
		const worker = registry.meet({ id, endpoint: endpoint.id, launcher: type, ready: false, now: now(), ...assigned });
		worker.launchedAs = launchHash(endpoint);
		if (endpoint.warmup) setWarmup(worker, JSON.stringify(endpoint.warmup.input));
		const start = this.#launch(endpoint, { worker, launcher, gpus }).finally(() => this.#starts.delete(id));
		this.#starts.set(id, start);
		await start;
	}

	/** Hands the worker no more jobs, ends its polls, sends a signal, and kills it after the grace. */
	async stop(worker: Worker, { why, graceMs, code, isSurplus = false }: StopRequest): Promise<void> {
		const { launchers, events, clock, now } = this.#d;
		const launcher = launchers.get(worker.launcher);
		if (!launcher || !worker.managed) return;
		markStopping(worker, { isSurplus, ending: { text: `it was stopped: ${why}`, code } });
		events.emit("worker.stopping", { endpoint: worker.endpoint, worker: worker.id, why });
		if (graceMs > 0) await clock.sleep(POLLS_OUT_MS);
		// The launcher does not know a worker yet that is only just being started.
		await this.#starts.get(worker.id)?.catch(() => {});
		// A launcher may end idle workers faster, and the last job was perhaps handed out just before.
		this.reportBusy(worker);
		try {
			await launcher.stop(worker.id, graceMs);
		} catch (error) {
			noteUnstopped(worker, { why, at: now() });
			if (error instanceof PlatformUnavailable && worker.isSurplus) return withdrawStop(worker);
			throw error;
		}
		if (this.#failed.delete(worker.id)) await this.#forget(worker);
	}

	/** Removes a worker whose start had failed, and that has been stopped after all. */
	async #forget(worker: Worker): Promise<void> {
		this.#d.registry.forget(worker);
		await this.#d.store.workers.remove({ id: worker.id });
		await this.#refuse(worker);
	}

	/** Refuses its calls from now on. One in flight may have registered it again, as if started elsewhere. */
	async #refuse(worker: Worker): Promise<void> {
		const { access, registry } = this.#d;
		await access.tokens.revoke(worker.id);
		const again = registry.get(worker);
		if (!again || again.managed) return;
		closeWorker(again);
		registry.forget(again);
	}

	/** Hands the worker no more jobs; it is to be stopped once it holds none (D28). */
	retire(worker: Worker, why: string, code?: WorkerReasonCode): void {
		if (!worker.managed) return;
		const wasLeaving = this.isLeaving(worker);
		// The last reason counts: one that makes room may go on.
		if (!markRetiring(worker, why, code) || wasLeaving) return;
		this.#d.events.emit("worker.draining", { endpoint: worker.endpoint, worker: worker.id, why });
	}

	/** Withdraws {@link retire}: it takes jobs again, unless it is being stopped. */
	keep(worker: Worker): void {
		withdrawRetiring(worker);
	}

	/** Notifies the launcher when the worker has begun or ceased to hold jobs. */
	reportBusy(worker: Worker): void {
		const busy = worker.held.size > 0;
		if (busy === worker.reportedBusy) return;
		worker.reportedBusy = busy;
		this.#d.launchers.get(worker.launcher)?.setBusy?.(worker.id, busy);
	}

	/** See `Launcher.roomFor`. */
	roomFor(worker: Worker, q: RoomQuery): readonly string[] {
		return this.#d.launchers.get(worker.launcher)?.roomFor?.(q) ?? [];
	}

	/** Lets launchers prepare for the endpoints that this server scales; see `Launcher.prepare`. */
	prepare(report: (endpoint: string, reason: WorkerReason | undefined) => void): void {
		const { endpoints, cluster, launchers } = this.#d;
		const scaled = endpoints
			.all()
			.filter(({ endpoint }) => cluster.scales(endpoint.id))
			.map(({ endpoint: { id, launcher: settings } }) => ({ id, settings }));
		for (const [type, launcher] of launchers)
			launcher.prepare?.(
				scaled.filter(({ settings }) => settings.type === type),
				report,
			);
	}

	/** Whether the worker is being stopped, or is to be. */
	isLeaving(worker: Worker): boolean {
		return worker.draining;
	}

	isStopping(worker: Worker): boolean {
		return isStopping(worker);
	}

	/** Whether a launched worker can run on after this server's end until a start takes it over. */
	outlivesService({ launcher }: Worker): boolean {
		const { cluster, launchers } = this.#d;
		// Other servers start workers in the place of those that they cannot take over.
		return isShared(launcher) || (!cluster.others() && launchers.get(launcher)?.endsWithService !== true);
	}

	async close(): Promise<void> {
		for (const launcher of this.#d.launchers.values()) await launcher.close();
	}

	#find(workerId: string): Worker | undefined {
		return [...this.#d.registry.all()].find(({ id, managed }) => managed && id === workerId);
	}

	async #exited({ workerId, code, signal, reason, lastOutput: printed }: Exit): Promise<void> {
		const { events, registry, ended } = this.#d;
		this.#recorders.delete(workerId);
		const worker = this.#find(workerId);
		if (!worker || this.#failed.has(workerId)) return;
		const { endpoint } = worker;
		const lastOutput = shownOutput(worker, printed);
		// While it is still in the registry: listeners look it up there.
		events.emit("worker.exited", { endpoint, worker: workerId, code, signal, lastOutput, ...(reason && { reason }) });
		endPolls(worker);
		registry.forget(worker);
		await ended.record(worker, { code, signal, reason, lastOutput });
		await this.#refuse(worker);
	}

	#noticed({ workerId, ...now }: Notice): void {
		const worker = this.#find(workerId);
		if (!worker) return;
		const { endpoint, notice: before } = worker;
		setNotice(worker, now.state === "running" ? undefined : now, this.#d.now());
		if (now.state === "running") return;
		const { code: reason, message } = now;
		if (now.state === "ending") return this.retire(worker, message);
		if (before?.code === reason && before.message === message) return;
		this.#d.events.emit("worker.waiting", { endpoint, worker: workerId, reason, message });
	}

	async #launch(
		endpoint: Endpoint,
		{ worker, launcher, gpus }: { worker: Worker; launcher: Launcher; gpus: AssignedGpus },
	): Promise<void> {
		const { store, access, address, cluster, events, registry, variables } = this.#d;
		const { id, createdAt } = worker;
		const { type } = endpoint.launcher;
		const { own, shared } = await address;
		const { url, serviceId } = isShared(type) ? shared : own;
		const row = { id, endpoint: endpoint.id, launcher: type, url, server: cluster.id, createdAt };
		const { launchedAs } = worker;
		/** A server that was paused may learn late that it does not. */
		const expectLead = (): void => {
			if (!cluster.scales(endpoint.id))
				throw new Error(`another server may start the workers of endpoint ${endpoint.id} now`);
		};
		const record = (handle: Handle): Promise<void> => {
			worker.host = hostOf(this.#d, worker.launcher, handle);
			const hidden = hiddenMember(worker.hidden ?? {}, access.encryption);
			const members = { [LAUNCHED_AS]: launchedAs, [STARTED_BY]: serviceId, ...hidden, ...gpuMembers(worker) };
			return store.workers.put({ ...row, handle: JSON.stringify({ ...handle, ...members }) });
		};
		let hasStarted = false;
		try {
			const given = await variables(endpoint.env);
			worker.hidden = given.hidden;
			const { adapter, added } = await this.#ofModules(endpoint);
			const env = { ...added?.env, ...given.env };
			worker.hidden = { ...added?.hidden, ...given.hidden };
			const token = await access.tokens.issue({ endpoint: endpoint.id, worker: id, launchedAs });
			await store.workers.put(row);
			const isRolling = [...registry.of(endpoint.id)].some((each) => (each.launchedAs ?? launchedAs) !== launchedAs);
			const spec = workerSpec({ endpoint: { ...endpoint, env }, adapter, id, token, gpus, url, serviceId, isRolling });
			const addresses = await this.#d.gpuAddresses(gpus.gpus);
			expectLead();
			let later: Handle | undefined;
			this.#recorders.set(id, (handle) => record((later = handle)));
			const handle = await launcher.start({ ...spec, gpus: addresses });
			hasStarted = true;
			expectLead();
			await record(later ?? handle);
			events.emit("worker.launched", { endpoint: endpoint.id, worker: id });
		} catch (error) {
			await this.#abandon(worker, { launcher, hasStarted, error: error as Error });
			throw error;
		}
	}

	/** What settings of modules make of the worker. */
	async #ofModules(
		endpoint: Endpoint,
	): Promise<{ adapter?: WorkerAdapter | undefined; added?: AddedVariables | undefined }> {
		if (Object.keys(moduleMembers(endpoint)).length === 0) return {};
		const { hooks } = this.#d;
		// Those of an earlier release may need a module that the present settings do not.
		await hooks.openFor?.(endpoint);
		return { adapter: hooks.adapter?.(endpoint), added: hooks.workerVariables?.(endpoint) };
	}

	/** Ends what a failed start left. What it left may run on, with its GPUs: its stop is then repeated. */
	async #abandon(
		worker: Worker,
		{ launcher, hasStarted, error }: { launcher: Launcher; hasStarted: boolean; error: Error },
	): Promise<void> {
		const { store, cluster, events, registry, ended } = this.#d;
		const { id } = worker;
		closeWorker(worker);
		this.#failed.add(id);
		this.#recorders.delete(id);
		try {
			await launcher.stop(id, 0);
		} catch (stopError) {
			// A start that was refused leaves nothing behind.
			if (hasStarted) {
				markStopping(worker, { isSurplus: false });
				noteUnstopped(worker, { why: "its start failed", at: this.#d.now() });
				events.emit("fault", { where: `stopping ${id}`, error: stopError });
				return;
			}
		}
		this.#failed.delete(id);
		registry.forget(worker);
		const { message } = error;
		if (cluster.scales(worker.endpoint) && !(error instanceof PlatformUnavailable))
			await ended.record(worker, { reason: { code: "start_failed", message, crash: true }, lastOutput: "" });
		else await store.workers.remove({ id });
		await this.#refuse(worker);
	}
}
