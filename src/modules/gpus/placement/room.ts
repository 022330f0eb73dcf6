/** Evicts workers for those of other endpoints, says so in their messages, and withdraws an eviction (D28). */
import type { Endpoint } from "../../../kernel/core/endpoints/endpoint.ts";
import type { EpochMs } from "../../../kernel/lib/time.ts";
import { usesOwnGpus } from "../../../kernel/launchers/index.ts";
import { isSleeping, type Worker } from "../../../kernel/engine/workers/worker-registry.ts";
import { beginRoom, setNoticeMessage } from "../../../kernel/engine/workers/worker-transitions.ts";
import { launchHash } from "../../../kernel/engine/endpoints/launch-hash.ts";
import type { Kernel } from "../../../kernel/module.ts";
import { platformRoom } from "./platform-room.ts";

/** Maximum number of stopped workers that the message of a waiting worker names. */
const SHOWN = 10;

/** Why a busy worker is stopped after its jobs. */
const roomText = (endpoint: string): string => `it makes room for endpoint ${endpoint}`;

export function roomMaker(d: Pick<Kernel, "now" | "events" | "endpoints" | "workers" | "cluster" | "scaling">) {
	const { now, events, endpoints } = d;
	const { launcher, registry, sleep } = d.workers;
	const { queues, stop } = d.scaling;
	const platforms = platformRoom(d);
	/** The endpoint for which a worker makes room, and the worker's description in messages. */
	const leavesFor = new WeakMap<Worker, { endpoint: string; text: string }>();
	/** The platform's message about a waiting worker, and our version that names the workers being stopped. */
	const notices = new WeakMap<Worker, { own: string; shown: string; stopped: readonly string[] }>();
	/** When room began to be made for the next worker of an endpoint, on this machine. */
	const madeSince = new Map<string, EpochMs>();

	function sleepOrStop(worker: Worker, why: string): void {
		if (sleep.isPossible(worker)) sleep.begin(worker, why);
		else stop(worker, why);
	}

	/** A busy worker finishes its jobs first. */
	function evict(workers: readonly Worker[], endpoint: Endpoint): void {
		const { id } = endpoint;
		for (const worker of workers) {
			leavesFor.set(worker, { endpoint: id, text: textOf(worker, now()) });
			if (worker.held.size > 0) {
				launcher.retire(worker, roomText(id));
				continue;
			}
			emitMade(worker, "idle");
			const leave = usesOwnGpus(endpoint.launcher) ? sleepOrStop : stop;
			leave(worker, `it is idle and makes room for endpoint ${id}`);
		}
	}

	const emitMade = ({ endpoint, id }: Worker, was: "idle" | "busy"): void =>
		events.emit("room.made", { endpoint, worker: id, was });

	/** Sentences on which workers make room for an endpoint, and when. `stopped`: texts of those that may have ended. */
	function leavingTexts({ id: endpoint }: Endpoint, stopped: readonly string[] = []): string[] {
		const texts = (fits: (worker: Worker) => boolean): string[] =>
			[...registry.all()].flatMap((worker) => {
				const leaving = leavesFor.get(worker);
				return leaving?.endpoint === endpoint && fits(worker) ? [leaving.text] : [];
			});
		const idle = [...new Set([...stopped, ...texts(({ held, sleep }) => held.size === 0 && !sleep)])];
		const sleeping = texts(isSleeping);
		const busy = texts(({ held }) => held.size > 0);
		return [
			...(idle.length > 0 ? [`Stopped to make room: ${idle.join(", ")}.`] : []),
			...(sleeping.length > 0 ? [`Put to sleep to make room: ${sleeping.join(", ")}.`] : []),
			...(busy.length > 0 ? [`To be stopped after their jobs, to make room: ${busy.join(", ")}.`] : []),
		];
	}

	/** Whether the worker leaves only because another endpoint needs its GPUs of this machine. */
	function leavesGpus({ retiring }: Worker, endpoint: string): boolean {
		return retiring === roomText(endpoint) && endpoints.has(endpoint) && usesOwnGpus(endpoints.get(endpoint).launcher);
	}

	return {
		leavingTexts,
		/** Makes room for the next worker of the endpoint, which starts once `workers` have ended or sleep. */
		evict(workers: readonly Worker[], endpoint: Endpoint): void {
			if (workers.length > 0 && !madeSince.has(endpoint.id)) madeSince.set(endpoint.id, now());
			evict(workers, endpoint);
		},
		/** Called before a worker that has finished its jobs is stopped. True: it is put to sleep instead. */
		leave(worker: Worker): boolean {
			const { endpoint } = leavesFor.get(worker) ?? {};
			if (endpoint === undefined) return false;
			emitMade(worker, "busy");
			if (!leavesGpus(worker, endpoint) || !sleep.isPossible(worker)) return false;
			sleep.begin(worker, worker.retiring!);
			return true;
		},
		/** Returns when room began to be made for the worker that starts now. */
		takeTime({ id }: Endpoint): EpochMs | undefined {
			const since = madeSince.get(id);
			madeSince.delete(id);
			return since;
		},
		keptFor: platforms.keptFor,
		/** Makes room for those of the endpoint's workers that their platform cannot place. `later`: endpoints after it. */
		make(endpoint: Endpoint, staying: readonly Worker[], q: { mayEvict: boolean; later: ReadonlySet<string> }): void {
			for (const waiting of staying) {
				const makers = platforms.makersFor(waiting, endpoint, q.mayEvict);
				if (makers.length > 0) {
					beginRoom(waiting, now());
					for (const rival of platforms.rivalsOf(waiting, makers, q.later))
						stop(rival, `it does not run yet, and room is made for endpoint ${endpoint.id}`);
				}
				evict(makers, endpoint);
				const { notice } = waiting;
				if (!notice) continue;
				const before = notices.get(waiting);
				const own = before?.shown === notice.message ? before.own : notice.message;
				const idle = makers.filter(({ held }) => held.size === 0).map((worker) => leavesFor.get(worker)!.text);
				const stopped = [...(before?.stopped ?? []), ...idle].slice(-SHOWN);
				const shown = [own, ...leavingTexts(endpoint, stopped)].join(" ");
				notices.set(waiting, { own, shown, stopped });
				if (shown !== notice.message) setNoticeMessage(waiting, shown);
			}
		},
		/** Keeps workers that would make room for an endpoint without waiting jobs, unless their settings changed. */
		withdraw(): void {
			for (const endpoint of madeSince.keys()) if (queues.isEmpty(endpoint)) madeSince.delete(endpoint);
			for (const worker of registry.all()) {
				const { endpoint } = leavesFor.get(worker) ?? {};
				if (!launcher.isLeaving(worker) && worker.sleep?.state !== "falling_asleep") leavesFor.delete(worker);
				if (endpoint === undefined || worker.retiring !== roomText(endpoint) || worker.held.size === 0) continue;
				if (!queues.isEmpty(endpoint) || !endpoints.has(worker.endpoint)) continue;
				if (worker.launchedAs !== launchHash(endpoints.get(worker.endpoint))) continue;
				leavesFor.delete(worker);
				launcher.keep(worker);
			}
		},
	};
}

/** Such as "captions-1f (idle for 40 s, GPU 0)". The time is that of the decision. */
function textOf({ id, gpus, host, held, idleSince }: Worker, now: EpochMs): string {
	const numbers = `${gpus.length === 1 ? "GPU" : "GPUs"} ${gpus.join(" and ")}`;
	const place = gpus.length > 0 ? numbers : host && `on ${host}`;
	const facts = [held.size === 0 && `idle for ${Math.round((now - idleSince) / 1000)} s`, place].filter(Boolean);
	return facts.length === 0 ? id : `${id} (${facts.join(", ")})`;
}
