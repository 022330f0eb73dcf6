/**
 * Stops jobs that run on a worker (D18): by its stop poll at once, and after the grace by killing a managed worker that
 * runs nothing else.
 */
import { StoreUnavailable } from "../../store/contract/store.ts";
import type { WorkerLauncher } from "./launch/launch.ts";
import { releaseJob, type Worker } from "./worker-registry.ts";
import type { WorkersContext } from "./workers-context.ts";

const REPEAT_MS = 1000;

const IDLE_MS = 3_600_000;

interface Run {
	endpoint: string;
	id: string;
	worker: string;
	/** The service has failed the job, so the store does not name it. */
	failed?: boolean;
}

function nameOf({ endpoint, id, worker }: Run): string {
	return `${endpoint} ${id} ${worker}`;
}

export type StopSignals = ReturnType<typeof stopSignals>;

/** Where servers share the store, each poll reads it, because a worker may have answered any of them. */
export function stopSignals(d: WorkersContext & { launcher: WorkerLauncher }) {
	const { shared } = d.cluster;
	/** Jobs that have stopped, which the store knows only after one more ping. */
	const ended = new Set<string>();

	async function graceThenKill(worker: Worker, id: string): Promise<void> {
		const request = worker.stopping.get(id);
		await d.clock.sleep(d.endpoints.stopGraceMs(worker.endpoint));
		if (shared) await recall(worker);
		if (worker.stopping.get(id) !== request || d.registry.get(worker) !== worker) return;
		const runsOthers = [...worker.held.keys()].some((held) => !worker.stopping.has(held));
		if (!worker.managed || runsOthers)
			d.events.emit("stop.unconfirmed", { endpoint: worker.endpoint, id, worker: worker.id });
		else {
			const why = `job ${id} did not stop within the grace`;
			d.background.run(`stopping ${worker.id}`, d.launcher.stop(worker, { why, graceMs: 0 }));
		}
	}

	function due(worker: Worker): string[] {
		const now = d.now();
		return [...worker.stopping]
			.filter(([, { sentAt }]) => sentAt === undefined || now - sentAt >= REPEAT_MS)
			.map(([id]) => id);
	}

	function request({ endpoint, id, worker: workerId, failed = false }: Run): void {
		const worker = d.registry.get({ endpoint, id: workerId });
		if (!worker || worker.stopping.has(id)) return;
		ended.delete(nameOf({ endpoint, id, worker: workerId }));
		worker.stopping.set(id, { since: d.now(), failed, attempt: worker.held.get(id)?.attempt });
		worker.knownIdle = false;
		releaseJob(worker, id, d.now());
		d.events.emit("stop.sent", { endpoint, id, worker: workerId });
		for (const wake of worker.wakeStops) wake();
		void graceThenKill(worker, id);
	}

	/** With `worker`, also applies that a job of it needs no stop any more. */
	async function recall(worker?: Worker): Promise<void> {
		const asked = d.now();
		const runs = await d.store.jobs.unstopped().catch((error: unknown) => {
			if (!(error instanceof StoreUnavailable)) d.events.emit("fault", { where: "reading jobs to stop", error });
		});
		if (!runs) return;
		const open = new Set(runs.map(nameOf));
		for (const name of ended) if (!open.has(name)) ended.delete(name);
		if (worker) {
			const { id: workerId, endpoint, stopping } = worker;
			for (const [id, { since, failed }] of stopping)
				if (!failed && since < asked && !open.has(nameOf({ endpoint, id, worker: workerId }))) stopping.delete(id);
		}
		for (const run of runs) if (!ended.has(nameOf(run))) request(run);
	}

	async function wakeOrEnd(worker: Worker, pollEnd: AbortSignal): Promise<void> {
		const woken = new AbortController();
		const wake = (): void => woken.abort();
		worker.wakeStops.add(wake);
		const end = AbortSignal.any([woken.signal, pollEnd]);
		await d.clock.sleep(worker.stopping.size > 0 ? REPEAT_MS : IDLE_MS, end);
		worker.wakeStops.delete(wake);
	}

	return {
		request,
		/** Requests the stops that the store has recorded, because signals may have been lost. */
		recall: (): Promise<void> => recall(),
		/** Returns at once if there are jobs to stop, else later; none after `pollEnded`. */
		async poll(worker: Worker, pollEnded: Promise<unknown>): Promise<string[]> {
			const end = new AbortController();
			void pollEnded.then(() => end.abort());
			while (!end.signal.aborted) {
				if (shared) await recall(worker);
				if (end.signal.aborted) break;
				const ids = due(worker);
				if (ids.length > 0) {
					for (const id of ids) worker.stopping.get(id)!.sentAt = d.now();
					return ids;
				}
				await wakeOrEnd(worker, end.signal);
			}
			return [];
		},
		/** The worker does not run the job any more. */
		over(worker: Worker, id: string): void {
			if (!worker.stopping.delete(id) || !shared) return;
			ended.add(nameOf({ endpoint: worker.endpoint, id, worker: worker.id }));
		},
	};
}
