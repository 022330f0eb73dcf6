/** Pods of this service that belong to no worker: a start was not recorded, or its answer was lost. */
import type { Clock } from "../../clock.ts";
import { sentenceOf } from "./client.ts";
import type { Cluster } from "./cluster.ts";
import { allEnded, hasEnded, type Pod, waitingOf } from "./pod-status.ts";

/** Grace of Pods that nothing recorded, s. */
const GRACE_SECONDS = 1;
/** Maximum time from the start of a program until its node reports it, and interval of that check, ms. */
const BEGIN_MS = 10_000;
const CHECK_MS = 250;
/** Pause before the next try for a Pod that could not be deleted, ms. */
const RETRY_MS = 5000;

interface Deps {
	clock: Clock;
	log: (message: string) => void;
	closed: AbortSignal;
	/** Whether this server starts the workers of the Pod's endpoint, and does not watch this one. */
	isUnknown: (pod: Pod) => boolean;
}

export class Strays {
	readonly #d: Deps;
	/** Uids of Pods that are being removed. */
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
			// A Pod that cannot run is removed at once, and with it its name.
			const canRun = !hasEnded(settled) && waits === "starting";
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

	/** Removes all strays; returns how many ran. Their removal goes on. */
	sweep(cluster: Cluster): number {
		const strays = [...cluster.watch.pods.values()].filter((pod) => this.#isStray(pod));
		for (const pod of strays) void this.check(cluster, pod);
		return strays.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length;
	}

	/** Whether the Pod belongs to no worker any more; a Pod that is being deleted, once nothing of it runs. */
	#isStray(pod: Pod): boolean {
		const isDeleted = pod.metadata.deletionTimestamp !== undefined;
		return this.#d.isUnknown(pod) && (!isDeleted || (hasEnded(pod) && allEnded(pod)));
	}

	/** Some kubelets end nothing, for a minute, of a Pod deleted between begin and report of its program. */
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
