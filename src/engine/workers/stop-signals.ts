/**
 * Stops jobs that run on a worker (D18): by its stop poll at once, and after the grace by killing a
 * managed worker that runs nothing else.
 */
import type { EventBus } from "../../events.ts";
import type { Clock } from "../../clock.ts";
import type { EpochMs } from "../../core/time.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import { releaseJob, type Worker, type WorkerRegistry } from "./worker-registry.ts";

/** Least time between two responses that name the same job to stop, ms. */
const REPEAT_MS = 1000;

/** Maximum wait of a stop poll without a reason to check again, ms. */
const IDLE_MS = 3_600_000;

/** A job that must stop on a worker. */
interface Run {
	endpoint: string;
	id: string;
	worker: string;
	/** The service has failed the job: the store does not name it among those to stop. */
	failed?: boolean;
}

export interface StopSignals {
	/** The worker must stop this job. */
	request(run: Run): void;
	/** Jobs that the worker must stop: at once if there are any, else later; none after `ended`. */
	poll(worker: Worker, ended: Promise<unknown>): Promise<string[]>;
	/** Reads the jobs to stop from the store: hints may have been lost. */
	recall(): Promise<void>;
	/** The worker does not run the job any more. */
	over(worker: Worker, id: string): void;
}

function nameOf({ endpoint, id, worker }: Run): string {
	return `${endpoint} ${id} ${worker}`;
}

/**
 * `unstopped` reads the jobs to stop; where several servers share the store (`shared`) for each poll:
 * a worker may have answered any of them.
 */
export function stopSignals(d: {
	clock: Clock;
	now: () => EpochMs;
	events: EventBus;
	registry: WorkerRegistry;
	stopGraceMs: (endpoint: string) => number;
	kill: (worker: Worker, why: string) => void;
	unstopped: () => Promise<Run[]>;
	shared: boolean;
}): StopSignals {
	/** Jobs that have stopped, which the store does not know yet: it takes one more ping. */
	const ended = new Set<string>();

	async function graceThenKill(worker: Worker, id: string): Promise<void> {
		const request = worker.stopping.get(id);
		await d.clock.sleep(d.stopGraceMs(worker.endpoint));
		if (d.shared) await recall(worker);
		if (worker.stopping.get(id) !== request || d.registry.get(worker) !== worker) return;
		const runsOthers = [...worker.held.keys()].some((held) => !worker.stopping.has(held));
		if (!worker.managed || runsOthers)
			d.events.emit("stop.unconfirmed", { endpoint: worker.endpoint, id, worker: worker.id });
		else d.kill(worker, `job ${id} did not stop within the grace`);
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
		worker.stopping.set(id, { since: d.now(), failed });
		worker.knownIdle = false;
		releaseJob(worker, id, d.now());
		d.events.emit("stop.sent", { endpoint, id, worker: workerId });
		for (const wake of worker.wakeStops) wake();
		void graceThenKill(worker, id);
	}

	/** Applies what the store knows: for one worker also that a job needs no stop any more. */
	async function recall(worker?: Worker): Promise<void> {
		const asked = d.now();
		const runs = await d.unstopped().catch((error: unknown) => {
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

	/** Waits for a reason to check again. */
	async function wakeOrEnd(worker: Worker, pollEnd: AbortSignal): Promise<void> {
		const woken = new AbortController();
		const wake = (): void => woken.abort();
		worker.wakeStops.add(wake);
		pollEnd.addEventListener("abort", wake, { once: true });
		await d.clock.sleep(worker.stopping.size > 0 ? REPEAT_MS : IDLE_MS, woken.signal);
		worker.wakeStops.delete(wake);
		pollEnd.removeEventListener("abort", wake);
	}

	return {
		request,
		recall: () => recall(),
		async poll(worker, pollEnded) {
			const end = new AbortController();
			void pollEnded.then(() => end.abort());
			while (!end.signal.aborted) {
				if (d.shared) await recall(worker);
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
		over(worker, id) {
			if (!worker.stopping.delete(id) || !d.shared) return;
			ended.add(nameOf({ endpoint: worker.endpoint, id, worker: worker.id }));
		},
	};
}
