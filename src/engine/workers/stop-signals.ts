/**
 * Stops a run that must not go on (D18): the signal on the worker's stop channel at once, after the
 * grace the end of a worker that is ours and runs nothing else.
 */
import type { Clock } from "../../clock.ts";
import type { EventBus } from "../../events.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import type { Worker, WorkerRegistry } from "./worker-registry.ts";
import { releaseJob } from "./worker-registry.ts";

/**
 * A stop is repeated on a channel at most this often, ms, until the worker's word shows that the
 * run is over.
 */
const REPEAT_MS = 1000;

/** A run that must stop. */
interface Run {
	endpoint: string;
	id: string;
	worker: string;
}

/** Stops runs. */
export interface StopSignals {
	/** The worker must stop this run. */
	request(run: Run): void;
	/**
	 * Jobs the worker must stop, for its open stop channel: at once if there are any, else when there
	 * are, or none after `left`.
	 */
	poll(worker: Worker, left: Promise<unknown>): Promise<string[]>;
	/**
	 * What the store knows of runs that must stop, for workers known here: hints of other servers may
	 * have been missed.
	 */
	recall(): Promise<void>;
	/** The worker's word that a run is over there. */
	over(worker: Worker, id: string): void;
}

function nameOf({ endpoint, id, worker }: Run): string {
	return `${endpoint} ${id} ${worker}`;
}

/**
 * Stopping over the workers known here. `kill` ends a launched worker for certain. `unstopped` is
 * given where several servers share the store, which then knows best: a worker's word may have gone
 * to any of them.
 */
export function stopSignals(d: {
	clock: Clock;
	now: () => number;
	events: EventBus;
	workers: WorkerRegistry;
	graceMs: (endpoint: string) => number;
	kill: (worker: Worker, why: string) => void;
	unstopped?: (() => Promise<Run[]>) | undefined;
}): StopSignals {
	/** Runs known here to be over, while the store does not know it: it takes a ping more. */
	const ended = new Set<string>();

	async function graceThenKill(worker: Worker, id: string): Promise<void> {
		const request = worker.stopping.get(id);
		await d.clock.sleep(d.graceMs(worker.endpoint));
		if (d.unstopped) await recall(worker);
		if (worker.stopping.get(id) !== request || d.workers.get(worker) !== worker) return;
		const runsOthers = [...worker.held.keys()].some((held) => !worker.stopping.has(held));
		if (worker.launcher === "external" || runsOthers)
			d.events.emit("stop.unconfirmed", { endpoint: worker.endpoint, id, worker: worker.id });
		else d.kill(worker, `job ${id} did not stop within the grace`);
	}

	function due(worker: Worker): string[] {
		const now = d.now();
		return [...worker.stopping]
			.filter(([, stop]) => stop.toldAt === undefined || now - stop.toldAt >= REPEAT_MS)
			.map(([id]) => id);
	}

	function request({ endpoint, id, worker: workerId }: Run): void {
		const worker = d.workers.get({ endpoint, id: workerId });
		if (!worker || worker.stopping.has(id)) return;
		ended.delete(nameOf({ endpoint, id, worker: workerId }));
		worker.stopping.set(id, { since: d.now() });
		worker.knownIdle = false;
		releaseJob(worker, id, d.now());
		d.events.emit("stop.sent", { endpoint, id, worker: workerId });
		for (const wake of worker.wakeStops) wake();
		void graceThenKill(worker, id);
	}

	/**
	 * Brings what is known here up to what the store knows; of one worker, or of all with what must
	 * stop.
	 */
	async function recall(worker?: Worker): Promise<void> {
		if (!d.unstopped) return;
		const asked = d.now();
		const runs = await d.unstopped().catch((error: unknown) => {
			if (!(error instanceof StoreUnavailable))
				d.events.emit("fault", { where: "looking for runs to stop", error });
		});
		// While the store is away, what is known here must do.
		if (!runs) return;
		const open = new Set(runs.map(nameOf));
		for (const name of ended) if (!open.has(name)) ended.delete(name);
		if (worker) {
			const { id: workerId, endpoint, stopping: known } = worker;
			for (const [id, { since }] of known)
				if (since < asked && !open.has(nameOf({ endpoint, id, worker: workerId })))
					known.delete(id);
		}
		for (const run of runs) if (!ended.has(nameOf(run))) request(run);
	}

	return {
		request,
		recall: () => recall(),
		async poll(worker, left) {
			const gone = new AbortController();
			void left.then(() => gone.abort());
			while (!gone.signal.aborted) {
				if (d.unstopped) await recall(worker);
				if (gone.signal.aborted) break;
				const ids = due(worker);
				if (ids.length > 0) {
					for (const id of ids) worker.stopping.get(id)!.toldAt = d.now();
					return ids;
				}
				const news = new AbortController();
				const wake = (): void => news.abort();
				worker.wakeStops.add(wake);
				gone.signal.addEventListener("abort", wake, { once: true });
				await d.clock.sleep(worker.stopping.size > 0 ? REPEAT_MS : 3_600_000, news.signal);
				worker.wakeStops.delete(wake);
				gone.signal.removeEventListener("abort", wake);
			}
			return [];
		},
		over(worker, id) {
			if (!worker.stopping.delete(id) || !d.unstopped) return;
			ended.add(nameOf({ endpoint: worker.endpoint, id, worker: worker.id }));
		},
	};
}
