/** Marks Pods that hold jobs, so that autoscalers of nodes leave them alone. */
import type { Clock } from "../../../kernel/system/clock.ts";
import { statusOf } from "../api/client.ts";
import type { Cluster, PodName } from "../cluster.ts";

const RETRY_MS = 1000;

export class BusyMark {
	isMarked = false;
	/** Whether the worker holds jobs, as far as the engine has said. */
	isWanted = false;
	#isRunning = false;
	readonly #cluster: Cluster;
	readonly #clock: Clock;
	readonly #over: AbortSignal;

	constructor(q: { cluster: Cluster; clock: Clock; over: AbortSignal }) {
		this.#cluster = q.cluster;
		this.#clock = q.clock;
		this.#over = q.over;
	}

	/**
	 * Sets or removes the mark; failed calls are repeated. Without a Pod the wanted state is only recorded for the next
	 * call.
	 */
	async set(pod: PodName | undefined, isWanted = this.isWanted): Promise<void> {
		this.isWanted = isWanted;
		if (this.#isRunning) return;
		this.#isRunning = true;
		while (this.isWanted !== this.isMarked && pod && !this.#over.aborted) {
			const wanted = this.isWanted;
			try {
				await this.#cluster.setBusy(pod, wanted);
				this.isMarked = wanted;
			} catch (error) {
				if (statusOf(error) === 404 || statusOf(error) === 409) break;
				await this.#clock.sleep(RETRY_MS, this.#over);
			}
		}
		this.#isRunning = false;
	}
}
