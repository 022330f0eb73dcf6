/** One worker and its Pod, from creation or adoption until its exit is reported. */
import type { Clock } from "../../../kernel/system/clock.ts";
import type { LocalMs } from "../../../kernel/lib/time.ts";
import type { ExitReason } from "../../../kernel/core/workers/worker-reason.ts";
import type { LogSource } from "../../../kernel/launchers/logs/log-sources.ts";
import type { Exit, PlatformState } from "../../../kernel/launchers/launcher.ts";
import { REPORT_MS } from "../../../kernel/launchers/adapter-container.ts";
import { endInGrace, WatchedWorker } from "../../../kernel/launchers/watched-workers.ts";
import { BusyMark } from "./busy-mark.ts";
import { isPassing, isUnanswered, sentenceOf } from "../api/client.ts";
import type { Cluster, PodEvent, PodName } from "../cluster.ts";
import { copyWholeOutput } from "./output.ts";
import { endOf } from "./pod-end.ts";
import { CONTAINER } from "../objects/names.ts";
import {
	allEnded,
	containersOf,
	deletionOf,
	endpointOf,
	hasBegun,
	hasEnded,
	hasResult,
	hasServer,
	hasServerEnded,
	isBusy,
	isFailedPull,
	isOnLostNode,
	isOver,
	type Pod,
	preparationOf,
	type Waiting,
	waitingOf,
} from "./pod-status.ts";

const RETRY_MS = 1000;
/** Maximum time beyond the grace for a Pod to end or the API server to answer, ms. */
const END_MS = 10_000;
/** Maximum wait for an API server that does not answer a stop, ms. */
const STOP_MS = 2000;
/** Maximum time from a program's start until its node reports it, ms. */
const BEGIN_MS = 2500;
/** Maximum wait for the last output after the end, ms. */
const OUTPUT_MS = 5000;
/** The engine reports an adopted worker's jobs within this time, ms. */
const SETTLE_MS = 5000;

interface WorkerOptions {
	id: string;
	/** Undefined for an adopted worker whose Pod was not seen yet. */
	endpoint: string | undefined;
	cluster: Cluster;
	/** Failed image pulls until it is given up. */
	tries: number;
	clock: Clock;
	logDir: string;
	log: (message: string) => void;
	onState: (worker: PodWorker, state: PlatformState) => void;
	onExit: (worker: PodWorker, end: Pick<Exit, "code" | "reason">) => void;
}

export class PodWorker extends WatchedWorker {
	readonly cluster: Cluster;
	pod: PodName | undefined;
	isPrepared = false;
	readonly #q: WorkerOptions;
	readonly #busy: BusyMark;
	#watchedSince: LocalMs = 0;
	#last: Pod | undefined;
	/** The Pod as it was when a container of the worker had just ended unasked: then the launcher deletes it. */
	#ended: Pod | undefined;
	#isMissing = false;
	#isFinishing = false;
	/** The launcher deletes the Pod, for a stop or a reason of its own. */
	#isRequested = false;
	#given: ExitReason | undefined;
	#failedPulls = 0;
	#isPullFailed = false;
	/** The copies of its output, by container. `over`: aborted when that has ended. */
	readonly #outputs = new Map<string, { over: AbortController; copied: Promise<void> }>();
	#giveUpTimer: AbortController | undefined;
	readonly #begun = new AbortController();

	constructor(q: WorkerOptions) {
		super(q.id);
		this.#q = q;
		this.cluster = q.cluster;
		this.#busy = new BusyMark({ ...q, over: this.over.signal });
	}

	get endpoint(): string | undefined {
		return this.#q.endpoint ?? (this.#last && endpointOf(this.#last));
	}

	get runs(): boolean {
		return this.#last === undefined || !isOver(this.#last);
	}

	begin(pod: PodName): void {
		const { clock } = this.#q;
		this.pod = pod;
		this.#watchedSince = clock.now();
		// The exit must not be reported before the start has resolved.
		if (this.#isMissing) return void clock.sleep(0).then(() => this.#finish(this.#last, false));
		const present = this.cluster.watch.pods.get(pod.uid);
		if (!present) return;
		this.#busy.isMarked = isBusy(present);
		this.#observe(present);
		if (this.#busy.isMarked) void clock.sleep(SETTLE_MS, this.left.signal).then(() => this.#busy.set(pod));
	}

	seen(pod: Pod, isPresent: boolean): void {
		if (this.#isFinishing || (this.pod && pod.metadata.uid !== this.pod.uid)) return;
		this.#last = pod;
		this.#isMissing = !isPresent;
		if (!this.pod) return;
		if (isPresent) this.#observe(pod);
		else this.#finish(pod, false);
	}

	/** Handles the end of a list. `began`: when it was requested. */
	synced(began: LocalMs): void {
		const { pod } = this;
		if (pod && this.#watchedSince < began && !this.cluster.watch.pods.has(pod.uid)) this.#finish(this.#last, false);
	}

	explain(events: ReadonlyMap<string, PodEvent>): void {
		const event = events.get(this.pod?.uid ?? "");
		const reason = event && preparationOf(event);
		if (this.isPrepared && reason) this.#report({ state: "waiting", ...reason });
	}

	setBusy(isBusy: boolean): void {
		void this.#busy.set(this.pod, isBusy);
	}

	/** Stops the worker; resolves when its exit was reported. Each call sends its own grace. */
	async stop(stopGraceMs: number): Promise<void> {
		const { clock } = this.#q;
		const graceMs = this.#last && hasServer(this.#last) ? await this.#untilIdle(stopGraceMs) : stopGraceMs;
		this.#isRequested = true;
		// Some kubelets never report the end of a container whose begin they have not reported yet.
		if (this.isPrepared) await clock.sleep(BEGIN_MS, this.#begun.signal);
		const failed = Promise.withResolvers<void>();
		const late = new AbortController();
		this.#remove(Math.max(this.#leastGrace(), Math.ceil(graceMs / 1000)), STOP_MS).catch(failed.reject);
		void clock.sleep(graceMs + END_MS, late.signal).then(() => {
			if (late.signal.aborted) return;
			if (this.#last && isOnLostNode(this.#last)) return this.#abandon(this.#last);
			failed.reject(new Error(`its Pod still runs ${END_MS / 1000} s after its grace`));
		});
		try {
			await Promise.race([this.reported.promise, failed.promise]);
		} catch (error) {
			// A deletion that happens nevertheless is then not a requested one.
			if (isUnanswered(error)) this.#isRequested = this.#given !== undefined;
			throw error;
		} finally {
			late.abort();
		}
	}

	/**
	 * The signal of a deletion reaches the server as well, which may end at once: first its jobs end, as far as the grace
	 * allows. Returns the rest of the grace, ms. The worker gets no jobs while it is being stopped.
	 */
	async #untilIdle(graceMs: number): Promise<number> {
		const grace = { graceLeftMs: graceMs };
		const { signal } = this.left;
		const q = { terminate() {}, hasEnded: () => !this.#busy.isWanted || signal.aborted, signal };
		await endInGrace(this.#q.clock, grace, q);
		return Math.max(0, grace.graceLeftMs);
	}

	#observe(pod: Pod): void {
		this.#last = pod;
		for (const container of containersOf(pod)) this.#copyOutput(pod, container);
		if (hasBegun(pod)) this.#begun.abort();
		if (hasResult(pod) && !this.#isRequested) this.#ended ??= pod;
		if (hasEnded(pod)) {
			if (isOver(pod)) this.over.abort();
			// A container that waits may begin any time.
			if (allEnded(pod) && isOver(pod)) return this.#finish(pod, true);
			// What else runs in the Pod ends with the worker.
			if (!this.#isRequested) void this.#remove(graceAfterEnd(pod)).catch(() => {});
			return;
		}
		if (pod.metadata.deletionTimestamp !== undefined) {
			if (!this.#isRequested) this.#report({ state: "ending", ...deletionOf(pod) });
			return;
		}
		const waiting = waitingOf(pod);
		this.isPrepared = waiting?.code === "starting" && pod.spec?.nodeName !== undefined;
		if (waiting) return this.#evaluate(pod, waiting);
		this.#giveUpTimer?.abort();
		this.#report({ state: "running" });
	}

	#copyOutput(pod: Pod, container: string): void {
		if (!hasBegun(pod, [container])) return;
		let output = this.#outputs.get(container);
		if (!output) {
			const over = new AbortController();
			const source: LogSource | undefined = hasServer(pod)
				? container === CONTAINER
					? "adapter"
					: "server"
				: undefined;
			const q = { pod: this.pod!.name, source, over: over.signal, left: this.left.signal };
			this.#outputs.set(container, (output = { over, copied: copyWholeOutput(this.#q, q) }));
		}
		if (isOver(pod, [container])) output.over.abort();
	}

	/** Gives up a Pod that cannot recover; otherwise reports why it waits. */
	#evaluate(pod: Pod, { giveUpAfterMs, ...reason }: Waiting): void {
		const isFailed = isFailedPull(pod);
		if (isFailed && !this.#isPullFailed) this.#failedPulls += 1;
		this.#isPullFailed = isFailed;
		if (this.#failedPulls >= this.#q.tries || giveUpAfterMs === 0) return this.#giveUp({ ...reason, crash: true });
		// `#explain` reports a long start from its events.
		if (reason.code !== "starting") this.#report({ state: "waiting", ...reason });
		if (giveUpAfterMs === undefined) {
			this.#giveUpTimer?.abort();
			this.#giveUpTimer = undefined;
		} else if (!this.#giveUpTimer) {
			this.#giveUpTimer = new AbortController();
			const signal = AbortSignal.any([this.#giveUpTimer.signal, this.left.signal]);
			void this.#q.clock.sleep(giveUpAfterMs, signal).then(() => {
				if (!signal.aborted) this.#giveUp({ ...reason, crash: true });
			});
		}
	}

	#giveUp(reason: ExitReason): void {
		if (this.#given) return;
		this.#given = reason;
		this.#isRequested = true;
		void this.#remove(this.#leastGrace(), Infinity).catch((error: unknown) => {
			const why = sentenceOf(error, this.cluster.client.server);
			this.#q.log(`the Pod of worker ${this.id} was not deleted: ${why}`);
		});
	}

	/** Finishes a worker whose node will not report its end. */
	#abandon(pod: Pod): void {
		const { nodeName = "" } = pod.spec ?? {};
		this.#given ??= { code: "node_failed", message: `Node ${nodeName} does not answer.`, crash: false };
		this.#finish(pod, true);
	}

	#finish(pod: Pod | undefined, isPresent: boolean): void {
		if (this.#isFinishing) return;
		this.#isFinishing = true;
		this.over.abort();
		for (const { over } of this.#outputs.values()) over.abort();
		this.#giveUpTimer?.abort();
		void this.#end(pod, isPresent);
	}

	async #end(pod: Pod | undefined, isPresent: boolean): Promise<void> {
		const copied = Promise.all([...this.#outputs.values()].map((each) => each.copied));
		await Promise.race([copied, this.#q.clock.sleep(OUTPUT_MS, this.left.signal)]);
		// Removed before a replacement may start. A failure leaves a stray, which is removed later.
		if (isPresent) await this.#remove(0).catch(() => {});
		const found = endOf(this.#ended ?? pod, { asked: this.#isRequested && this.#ended === undefined });
		this.#q.onExit(this, { ...found, ...(this.#given && { reason: this.#given }) });
	}

	/** Removes the Pod; repeats for `timeoutMs` while the API server does not answer. */
	async #remove(graceSeconds: number, timeoutMs = END_MS): Promise<void> {
		const { signal } = this.left;
		for (let waitedMs = 0; this.pod && !signal.aborted; waitedMs += RETRY_MS) {
			try {
				return await this.cluster.remove(this.pod, graceSeconds);
			} catch (error) {
				if (!isPassing(error) || waitedMs >= timeoutMs) throw error;
				await this.#q.clock.sleep(RETRY_MS, signal);
			}
		}
	}

	/** Returns the minimum grace, s: a grace of 0 would remove the Pod before its node has stopped it. */
	#leastGrace(): number {
		return Number(!this.#last || hasBegun(this.#last) || !allEnded(this.#last));
	}

	/** Reports the state of the worker; one that runs from the start needs no notice. */
	#report(state: PlatformState): void {
		if (this.noticed !== "" || state.state !== "running") this.#q.onState(this, state);
	}
}

/** Grace of what still runs after the end of a container, s: an adapter reports jobs that have ended on its server. */
function graceAfterEnd(pod: Pod): number {
	return hasServerEnded(pod) ? REPORT_MS / 1000 : 1;
}
