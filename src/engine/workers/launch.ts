/**
 * Starts, takes over and ends the workers of launched endpoints, recorded before they are counted
 * on (D25, D34).
 */
import type { Clock } from "../../clock.ts";
import type { Endpoint } from "../../core/endpoint.ts";
import type { EventBus } from "../../events.ts";
import { isManaged } from "../../launchers/index.ts";
import type { Exit, Handle, Launcher } from "../../launchers/launcher.ts";
import type { Store } from "../../store/contract/store.ts";
import type { Random } from "../../ids.ts";
import { hex } from "../../ids.ts";
import type { Tokens } from "../access/worker-tokens.ts";
import { launchHash, WORKER_ID_BYTES, workerSpec } from "./worker-spec.ts";
import type { Worker, WorkerRegistry } from "./worker-registry.ts";

/** Member of a worker's recorded handle: numbers of its GPUs, with commas between. */
const GPUS = "sluiceGpus";
/** Member of a worker's recorded handle: what it was launched with. */
const LAUNCHED_AS = "sluiceLaunchedAs";

/**
 * From the 204 of its polls to the signal, ms: the answers must be out first (protocol B.8).
 */
const POLLS_OUT_MS = 20;

/** Workers of launchers. */
export interface WorkerLauncher {
	/**
	 * Starts one, known from the moment of the call, with these GPUs of the machine; throws when it
	 * cannot be started.
	 */
	start(endpoint: Endpoint, gpus?: readonly number[]): Promise<void>;
	/** Ends one: no more jobs, polls answered, signal, after `graceMs` for certain. */
	stop(worker: Worker, q: { why: string; graceMs: number }): Promise<void>;
	/** Gives one no more jobs; it is to be stopped once it holds none (D28). */
	retire(worker: Worker, why: string): void;
	/** Takes over what lives of earlier runs at this address, ends the rest. */
	restore(): Promise<void>;
	/** Ids of workers under way to their end. */
	ending(id: string): boolean;
	close(): Promise<void>;
}

interface Deps {
	store: Pick<Store, "workers" | "jobs" | "tokens">;
	clock: Clock;
	now: () => number;
	random: Random;
	events: EventBus;
	workers: WorkerRegistry;
	tokens: Tokens;
	/** Launchers by name. */
	launchers: ReadonlyMap<string, Launcher>;
	/** Address that workers call, without a slash at the end. */
	url: string;
	/** Identity of this service, of this server where several share a store: marks what it starts. */
	serviceId: string;
	/** The server, where several share a store. */
	server: string | undefined;
	/** Work that nobody waits for, but that a stop must wait for. */
	inBackground: (where: string, work: Promise<unknown>) => void;
	/** A launched worker's process is gone, with what it held. */
	onGone: (worker: Worker, exit: Pick<Exit, "code" | "signal">) => void;
}

/** Launching over the given launchers. */
export function workerLauncher(d: Deps): WorkerLauncher {
	const ending = new Set<string>();
	/** Starts under way by worker. */
	const starts = new Map<string, Promise<void>>();

	async function gone({ workerId, code, signal, lastOutput }: Exit): Promise<void> {
		ending.delete(workerId);
		const worker = [...d.workers.all()].find(
			({ id, launcher }) => id === workerId && launcher !== "external",
		);
		if (!worker) return;
		d.events.emit("worker.exited", {
			endpoint: worker.endpoint,
			worker: workerId,
			code,
			signal,
			lastOutput,
		});
		for (const end of worker.polls) end();
		d.workers.forget(worker);
		d.onGone(worker, {
			...(code !== undefined && { code }),
			...(signal !== undefined && { signal }),
		});
		await d.store.workers.remove({ id: workerId });
		await d.tokens.revoke(workerId);
	}

	for (const launcher of d.launchers.values()) {
		launcher.onExit((exit) => d.inBackground(`end of worker ${exit.workerId}`, gone(exit)));
	}

	async function launch(endpoint: Endpoint, worker: Worker, launcher: Launcher): Promise<void> {
		const { id, gpus } = worker;
		const row = {
			id,
			endpoint: endpoint.id,
			launcher: endpoint.launcher.type,
			url: d.url,
			server: d.server,
			createdAt: worker.createdAt,
		};
		const launchedAs = launchHash(endpoint);
		worker.launchedAs = launchedAs;
		try {
			const token = await d.tokens.issue({ endpoint: endpoint.id, worker: id });
			await d.store.workers.put(row);
			const handle = await launcher.start(
				workerSpec({
					endpoint,
					id,
					token,
					gpus,
					url: d.url,
					serviceId: d.serviceId,
				}),
			);
			await d.store.workers.put({
				...row,
				handle: JSON.stringify({
					...handle,
					[LAUNCHED_AS]: launchedAs,
					...(gpus.length > 0 && { [GPUS]: gpus.join(",") }),
				}),
			});
			d.events.emit("worker.launched", { endpoint: endpoint.id, worker: id });
		} catch (error) {
			d.workers.forget(worker);
			await launcher.stop(id, 0);
			await d.store.workers.remove({ id });
			await d.tokens.revoke(id);
			throw error;
		}
	}

	return {
		async start(endpoint, gpus = []) {
			const launcher = d.launchers.get(endpoint.launcher.type);
			if (!launcher || !isManaged(endpoint.launcher.type))
				throw new Error(`Endpoint ${endpoint.id} launches no workers.`);
			const id = `${endpoint.id}-${hex(d.random(WORKER_ID_BYTES))}`;
			const worker = d.workers.meet({
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
		retire(worker, why) {
			worker.draining = true;
			worker.retiring = why;
			for (const end of worker.polls) end();
		},
		async stop(worker, { why, graceMs }) {
			const launcher = d.launchers.get(worker.launcher);
			if (!launcher || worker.launcher === "external") return;
			worker.draining = true;
			ending.add(worker.id);
			d.events.emit("worker.stopping", { endpoint: worker.endpoint, worker: worker.id, why });
			for (const end of worker.polls) end();
			if (graceMs > 0) await d.clock.sleep(POLLS_OUT_MS);
			// One that is only just being started is not yet known to its launcher.
			await starts.get(worker.id)?.catch(() => {});
			await launcher.stop(worker.id, graceMs);
		},
		async restore() {
			// The workers of other servers are theirs.
			const rows = (await d.store.workers.list()).filter(({ server }) => server === d.server);
			for (const row of rows) {
				const launcher = d.launchers.get(row.launcher);
				const worker = d.workers.meet({ ...row, ready: false, now: d.now() });
				const handle = row.handle === undefined ? undefined : (JSON.parse(row.handle) as Handle);
				if (!launcher || !handle || !(await launcher.adopt(row.id, handle))) {
					worker.draining = true;
					await gone({ workerId: row.id, lastOutput: "" });
					continue;
				}
				worker.gpus = String(handle[GPUS] ?? "")
					.split(",")
					.filter((gpu) => gpu !== "")
					.map(Number);
				if (handle[LAUNCHED_AS] !== undefined) worker.launchedAs = String(handle[LAUNCHED_AS]);
				// It called the service that was here before.
				d.workers.seen(worker, d.now());
				if (row.url === d.url)
					d.events.emit("worker.adopted", { endpoint: row.endpoint, worker: row.id });
				else
					await this.stop(worker, {
						why: `it calls ${row.url ?? "nowhere"}, and the service is at ${d.url} now`,
						graceMs: 0,
					});
			}
			for (const [name, launcher] of d.launchers) {
				const recorded = rows.filter((row) => row.launcher === name).map(({ id }) => id);
				await launcher.removeStrays({ serviceId: d.serviceId, recorded });
			}
		},
		ending: (id) => ending.has(id),
		async close() {
			for (const launcher of d.launchers.values()) await launcher.close();
		},
	};
}
