/**
 * Looks for what hints have not told, where several servers share a store: they may be lost with a
 * connection or with the server that would give them.
 */
import type { Clock } from "../../clock.ts";
import type { EventBus } from "../../events.ts";
import { loop } from "../../service.ts";
import type { Loop } from "../../service.ts";
import type { ClusterStore } from "../../store/contract/cluster.ts";
import type { JobStore } from "../../store/contract/jobs.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import type { Dispatch } from "../jobs/dispatch.ts";
import { notifyCompletion } from "./signals.ts";
import type { StopSignals } from "../workers/stop-signals.ts";
import type { CompletionWaiters } from "../jobs/wait.ts";

/** Time between two looks, ms: what a lost hint may cost. */
const LOOK_MS = 4000;

/** Jobs asked for at once. */
const PAGE = 1000;

interface Deps {
	clock: Clock;
	now: () => number;
	events: EventBus;
	store: ClusterStore | undefined;
	jobs: JobStore;
	waiting: CompletionWaiters;
	dispatch: Dispatch;
	stopping: StopSignals;
	/** Endpoints were changed. */
	onEndpoints: () => void;
	/** Keys or worker tokens were changed. */
	onAccess: () => void;
}

/** The looks of this server; none where it is alone. */
export interface CatchUp {
	loops: Loop[];
	/** Looks now. */
	look(): void;
}

export function catchUp(d: Deps): CatchUp {
	const { store } = d;
	if (!store) return { loops: [], look: () => {} };
	const looks = loop({
		clock: d.clock,
		retryMs: LOOK_MS,
		onError: (error) => {
			// Others tell that the store is away.
			if (!(error instanceof StoreUnavailable))
				d.events.emit("fault", { where: "looking for lost hints", error });
		},
		step: async () => {
			await lookAtVersions(store);
			await lookAtWaits(store);
			await d.stopping.recall();
			d.dispatch.look();
			return LOOK_MS;
		},
	});
	let seen: Awaited<ReturnType<ClusterStore["versions"]>> | undefined;

	async function lookAtVersions({ versions }: ClusterStore): Promise<void> {
		const before = seen;
		seen = await versions();
		if (before?.endpoints !== seen.endpoints) d.onEndpoints();
		if (before?.access !== seen.access) d.onAccess();
	}

	async function lookAtWaits({ over }: ClusterStore): Promise<void> {
		d.waiting.newsForAll();
		const awaited = d.waiting.awaitedJobs();
		for (let from = 0; from < awaited.length; from += PAGE) {
			const ended = await over({ jobs: awaited.slice(from, from + PAGE) });
			await Promise.all(ended.map((job) => notifyCompletion(d, job)));
		}
	}

	return { loops: [looks], look: () => looks.nudge() };
}
