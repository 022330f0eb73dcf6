/** One worker and its Pod, from creation or adoption until its exit is reported. */
import type { Clock } from "../../clock.ts";
import type { LocalMs } from "../../core/time.ts";
import type { ExitReason, WorkerReason } from "../../core/workers/worker-reason.ts";
import { type Exit, type Notice, PlatformUnavailable } from "../launcher.ts";
import { isPassing, isUnanswered, sentenceOf, statusOf } from "./client.ts";
import type { Cluster, PodEvent, PodName } from "./cluster.ts";
import { copyOutput } from "./output.ts";
import {
	allEnded,
	deletionOf,
	endOf,
	endpointOf,
	hasBegun,
	hasEnded,
	isBusy,
	isFailedPull,
	isOnLostNode,
	type Pod,
	preparationOf,
	type Waiting,
	waitingOf,
} from "./pod-status.ts";

/** Pause between repeated calls, ms. */
const RETRY_MS = 1000;
/** Beyond the grace, for a Pod to end and for an API server that does not answer, ms. */
const PATIENCE_MS = 10_000;
/** For an API server that does not answer a stop, which is tried again, ms. */
const STOP_PATIENCE_MS = 2000;
/** From the start of a program until its node reports it, at most, ms. */
const BEGIN_MS = 2500;
/** For the last lines of output after the end, ms. */
const OUTPUT_MS = 5000;
/** The engine reports jobs that an adopted worker holds sooner than this, ms. */
const SETTLE_MS = 5000;
const TRIES = 3;

export interface PodWorker {
	readonly id: string;
	readonly cluster: Cluster;
	/** Id of its endpoint; undefined for an adopted one before its Pod was seen. */
	endpoint(): string | undefined;
	/** Once it was created. */
	pod(): PodName | undefined;
	/** Its Pod exists and is watched from now on. */
	begin(pod: PodName): void;
	/** The Pod has changed, or is missing from now on. */
	seen(pod: Pod, present: boolean): void;
	/** All Pods were listed. */
	synced(began: LocalMs): void;
	runs(): boolean;
	/** Whether a node prepares it. */
	isPrepared(): boolean;
	/** The last event of each Pod, by uid. */
	explain(events: ReadonlyMap<string, PodEvent>): void;
	stop(graceMs: number): Promise<void>;
	setBusy(busy: boolean): void;
	/** Nothing is watched any more; the Pod stays. */
	leave(): void;
}

export interface WorkerOptions {
	id: string;
	endpoint: string | undefined;
	cluster: Cluster;
	/** Failed pulls of its image until it is given up. */
	tries: number;
	clock: Clock;
	logDir: string;
	log: (message: string) => void;
	onNotice: (notice: Notice) => void;
	onExit: (end: Pick<Exit, "code" | "reason">) => void;
}

export function podWorker(q: WorkerOptions): PodWorker {
	const { id, cluster, clock } = q;
	let name: PodName | undefined;
	let begunAt: LocalMs = 0;
	let last: Pod | undefined;
	/** It was seen, and is not any more. */
	let isMissing = false;
	let isFinishing = false;
	/** The launcher deletes it, perhaps for a reason of its own. */
	let asked = false;
	let given: ExitReason | undefined;
	let pulls = 0;
	let isPullFailed = false;
	let preparing = false;
	let lastNotice = "";
	let output: Promise<void> | undefined;
	let hopeless: AbortController | undefined;
	const busy = { wanted: false, marked: false, isRunning: false };
	/** Its program has begun. */
	const begun = new AbortController();
	/** Its program has ended; it is not watched any more. */
	const over = new AbortController();
	const left = new AbortController();
	const reported = Promise.withResolvers<void>();

	function notify(notice: { state: "running" } | ({ state: "waiting" | "ending" } & WorkerReason)) {
		const text = JSON.stringify(notice);
		// One that runs from the start needs no notice.
		if (text === lastNotice || (lastNotice === "" && notice.state === "running")) return;
		lastNotice = text;
		q.onNotice({ workerId: id, ...notice });
	}

	function observe(pod: Pod): void {
		last = pod;
		if (hasBegun(pod)) {
			begun.abort();
			output ??= copyAll();
		}
		if (hasEnded(pod)) {
			over.abort();
			if (allEnded(pod)) return finish(pod, true);
			// Sidecars of its own end with it.
			if (!asked) void remove(1).catch(() => {});
			return;
		}
		const deleted = pod.metadata.deletionTimestamp !== undefined;
		if (deleted && !asked) return notify({ state: "ending", ...deletionOf(pod) });
		if (deleted) return;
		const waiting = waitingOf(pod);
		preparing = waiting?.code === "starting" && pod.spec?.nodeName !== undefined;
		if (!waiting) {
			hopeless?.abort();
			return notify({ state: "running" });
		}
		judge(pod, waiting);
	}

	/** Gives up on what will not get better, else reports the wait. */
	function judge(pod: Pod, { hopelessAfterMs, ...reason }: Waiting): void {
		const failed = isFailedPull(pod);
		if (failed && !isPullFailed) pulls += 1;
		isPullFailed = failed;
		if (pulls >= q.tries || hopelessAfterMs === 0) return fail({ ...reason, crash: true });
		// What its events say is worth a notice, if it takes long.
		if (reason.code !== "starting") notify({ state: "waiting", ...reason });
		if (hopelessAfterMs === undefined) {
			hopeless?.abort();
			hopeless = undefined;
		} else if (!hopeless) {
			const control = (hopeless = new AbortController());
			const signal = AbortSignal.any([control.signal, left.signal]);
			void clock.sleep(hopelessAfterMs, signal).then(() => {
				if (!signal.aborted) fail({ ...reason, crash: true });
			});
		}
	}

	function fail(reason: ExitReason): void {
		if (given) return;
		given = reason;
		asked = true;
		void remove(leastGrace(), Infinity).catch((error: unknown) =>
			q.log(`the Pod of worker ${id} was not deleted: ${sentenceOf(error, cluster.client.server)}`),
		);
	}

	/** With a grace of 0 the API removes the Pod before the kubelet has stopped it. */
	const leastGrace = (): number => Number(!last || hasBegun(last) || !allEnded(last));

	/** Once; `present`: the Pod is still there. */
	function finish(pod: Pod | undefined, present: boolean): void {
		if (isFinishing) return;
		isFinishing = true;
		over.abort();
		hopeless?.abort();
		void end(pod, present);
	}

	/** Its node will not report its end. */
	function abandon(pod: Pod): void {
		const { nodeName = "" } = pod.spec ?? {};
		given ??= { code: "node_failed", message: `Node ${nodeName} does not answer.`, crash: false };
		finish(pod, true);
	}

	async function end(pod: Pod | undefined, present: boolean): Promise<void> {
		await Promise.race([output, clock.sleep(OUTPUT_MS, left.signal)]);
		// Before a worker in its place may be started. What fails here is removed as a stray.
		if (present) await remove(0).catch(() => {});
		const found = pod === undefined ? {} : endOf(pod, { asked });
		left.abort();
		const reason = given ?? found.reason ?? (pod === undefined && !asked ? MISSING : undefined);
		q.onExit({
			...(found.code !== undefined && { code: found.code }),
			...(reason && { reason }),
		});
		reported.resolve();
	}

	/** Repeats while the API server does not answer. */
	async function remove(graceSeconds: number, patienceMs = PATIENCE_MS): Promise<void> {
		for (let waitedMs = 0; name && !left.signal.aborted; waitedMs += RETRY_MS) {
			try {
				return await cluster.remove(name, graceSeconds);
			} catch (error) {
				if (!isPassing(error) || waitedMs >= patienceMs) throw error;
				await clock.sleep(RETRY_MS, left.signal);
			}
		}
	}

	/** Until the program has ended and all its lines are copied. */
	async function copyAll(): Promise<void> {
		for (let tries = 0; !left.signal.aborted; ) {
			const hadEnded = over.signal.aborted;
			try {
				const place = { namespace: cluster.namespace, pod: name!.name, logDir: q.logDir };
				await copyOutput(cluster.client, { ...place, workerId: id, signal: left.signal });
				tries = 0;
				if (hadEnded) return;
			} catch (error) {
				tries += 1;
				if (hadEnded && tries >= TRIES) return;
				if (tries === TRIES && !hadEnded)
					q.log(`the output of worker ${id} is not read: ${sentenceOf(error, cluster.client.server)}`);
			}
			const wake = hadEnded ? left.signal : AbortSignal.any([over.signal, left.signal]);
			await clock.sleep(RETRY_MS, wake);
		}
	}

	async function mark(): Promise<void> {
		if (busy.isRunning) return;
		busy.isRunning = true;
		while (busy.wanted !== busy.marked && name && !over.signal.aborted && !left.signal.aborted) {
			const wanted = busy.wanted;
			try {
				await cluster.setBusy(name, wanted);
				busy.marked = wanted;
			} catch (error) {
				if (statusOf(error) === 404 || statusOf(error) === 409) break;
				await clock.sleep(RETRY_MS, left.signal);
			}
		}
		busy.isRunning = false;
	}

	return {
		id,
		cluster,
		endpoint: () => q.endpoint ?? (last && endpointOf(last)),
		pod: () => name,
		begin(pod) {
			name = pod;
			begunAt = clock.now();
			// Not before its start has resolved.
			if (isMissing) return void clock.sleep(0).then(() => finish(last, false));
			const present = cluster.watch.pods.get(pod.uid);
			if (!present) return;
			busy.marked = isBusy(present);
			observe(present);
			if (busy.marked) void clock.sleep(SETTLE_MS, left.signal).then(mark);
		},
		seen(pod, present) {
			if (isFinishing || (name && pod.metadata.uid !== name.uid)) return;
			last = pod;
			isMissing = !present;
			if (!name) return;
			if (present) observe(pod);
			else finish(pod, false);
		},
		synced(began) {
			if (name && begunAt < began && !cluster.watch.pods.has(name.uid)) finish(last, false);
		},
		runs: () => last === undefined || !hasEnded(last),
		isPrepared: () => preparing,
		explain(events) {
			const event = events.get(name?.uid ?? "");
			const reason = event && preparationOf(event);
			if (preparing && reason) notify({ state: "waiting", ...reason });
		},
		async stop(graceMs) {
			asked = true;
			// Some kubelets never report the end of a container whose begin they have not reported yet.
			if (preparing) await clock.sleep(BEGIN_MS, begun.signal);
			const failed = Promise.withResolvers<void>();
			const late = new AbortController();
			remove(Math.max(leastGrace(), Math.ceil(graceMs / 1000)), STOP_PATIENCE_MS).catch(failed.reject);
			void clock.sleep(graceMs + PATIENCE_MS, late.signal).then(() => {
				if (late.signal.aborted) return;
				if (last && isOnLostNode(last)) return abandon(last);
				failed.reject(new Error(`its Pod still runs ${PATIENCE_MS / 1000} s after its grace`));
			});
			try {
				await Promise.race([reported.promise, failed.promise]);
			} catch (error) {
				const isUnavailable = isUnanswered(error);
				// If it is deleted nevertheless, this was not asked for any more.
				if (isUnavailable) asked = given !== undefined;
				throw new (isUnavailable ? PlatformUnavailable : Error)(
					`worker ${id} could not be ended: ${sentenceOf(error, cluster.client.server)}`,
					{ cause: error },
				);
			} finally {
				late.abort();
			}
		},
		setBusy(wanted) {
			busy.wanted = wanted;
			void mark();
		},
		leave() {
			left.abort();
			reported.resolve();
		},
	};
}

const MISSING: ExitReason = {
	code: "deleted",
	message: "Its Pod is missing: it was deleted, or its node was.",
	crash: false,
};
