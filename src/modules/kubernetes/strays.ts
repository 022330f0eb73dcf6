/** Pods of this service without a worker: a start was not recorded, or its answer was lost. */
import type { Clock } from "../../kernel/system/clock.ts";
import { sentenceOf } from "./api/client.ts";
import type { Cluster } from "./cluster.ts";
import { allEnded, hasEnded, isOver, type Pod, waitingOf } from "./pods/pod-status.ts";

const GRACE_SECONDS = 1;
/** Maximum time from a program's start until its node reports it, and its check interval, ms. */
const BEGIN_MS = 10_000;
const CHECK_MS = 250;
const RETRY_MS = 5000;

interface Deps {
	clock: Clock;
	log: (message: string) => void;
	closed: AbortSignal;
	/** Whether this server scales the Pod's endpoint but does not watch the Pod. */
	isUnknown: (pod: Pod) => boolean;
}

export class Strays {
	readonly #d: Deps;
	readonly #removing = new Set<string>();

	constructor(d: Deps) {
		this.#d = d;
	}

	/** Removes a Pod if it is a stray. Failures are repeated, and logged once. */
	async check(cluster: Cluster, pod: Pod, isRetry = false): Promise<void> {
		const { uid, name } = pod.metadata;
		if (!this.#isStray(pod) || this.#removing.has(uid)) return;
		this.#removing.add(uid);
		try {
			const settled = await this.#settle(cluster, pod);
			const waits = waitingOf(settled)?.code ?? "starting";
			if (!this.#isStray(settled)) return;
			// A Pod that cannot run is removed at once, which frees its name.
			const canRun = !isOver(settled) && waits === "starting";
			await cluster.remove(pod.metadata, canRun ? GRACE_SECONDS : 0);
		} catch (error) {
			if (!isRetry) this.#d.log(`Pod ${name} was not deleted: ${sentenceOf(error, cluster.client.server)}`);
			void this.#d.clock.sleep(RETRY_MS, this.#d.closed).then(() => {
				const now = cluster.watch.pods.get(uid);
				if (now) void this.check(cluster, now, true);
			});
		} finally {
			this.#removing.delete(uid);
		}
	}

	/** Removes all strays in the background, and returns how many of them ran. */
	sweep(cluster: Cluster): number {
		const strays = [...cluster.watch.pods.values()].filter((pod) => this.#isStray(pod));
		for (const pod of strays) void this.check(cluster, pod);
		return strays.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length;
	}

	/** Whether a Pod is a stray. One that is being deleted counts only once none of its containers runs. */
	#isStray(pod: Pod): boolean {
		const isDeleted = pod.metadata.deletionTimestamp !== undefined;
		return this.#d.isUnknown(pod) && (!isDeleted || (hasEnded(pod) && allEnded(pod)));
	}

	/** Some kubelets take a minute to end a Pod that is deleted between its program's begin and the report of it. */
	async #settle(cluster: Cluster, pod: Pod): Promise<Pod> {
		const { uid, deletionTimestamp } = pod.metadata;
		let now = pod;
		for (let waitedMs = 0; waitedMs < BEGIN_MS && !this.#d.closed.aborted; waitedMs += CHECK_MS) {
			if (now.spec?.nodeName === undefined || deletionTimestamp !== undefined) break;
			if (waitingOf(now)?.code !== "starting") break;
			await this.#d.clock.sleep(CHECK_MS, this.#d.closed);
			now = cluster.watch.pods.get(uid) ?? now;
		}
		return now;
	}
}
