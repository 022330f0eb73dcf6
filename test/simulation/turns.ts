/** Jobs that wait get a worker in the end, also if others have the GPUs (D28), and at once if one asks (D16). */
import type { Engine } from "../../src/kernel/engine/engine.ts";
import type { EventBus } from "../../src/kernel/events.ts";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import type { Api } from "../torture/api.ts";
import type { Time } from "../torture/time.ts";
import type { Process } from "./process.ts";

/** Longest simulated time in which jobs of an endpoint wait, none of them runs, and no worker is started, ms. */
export const TURN_MS = 300_000;

const LOOK_MS = 10_000;

/**
 * Checks until the signal; `late` gets what waits for too long. `startedAt`: when a worker of an endpoint was last
 * started; those that crash repeatedly are started ever later.
 */
export async function watchTurns(
	{
		api,
		time,
		endpoints,
		startedAt,
	}: {
		api: Api;
		time: Time;
		endpoints: readonly string[];
		startedAt: ReadonlyMap<string, number>;
	},
	late: (what: string) => void,
	signal: AbortSignal,
): Promise<void> {
	const waitsSince = new Map<string, number>();
	while (!signal.aborted) {
		await time.sleep(LOOK_MS, signal);
		for (const id of endpoints) {
			const { result, json } = await api.call(`/v2/${id}/health`, { signal });
			if (result !== "ok" || !json?.jobs) continue;
			const { inQueue, inProgress } = json.jobs as { inQueue: number; inProgress: number };
			if (inQueue === 0 || inProgress > 0) {
				waitsSince.delete(id);
				continue;
			}
			const since = waitsSince.get(id) ?? time.now();
			waitsSince.set(id, since);
			const ms = time.now() - Math.max(since, startedAt.get(id) ?? 0);
			if (ms > TURN_MS) late(`jobs of ${id} wait for ${Math.round(ms / 1000)} s: ${JSON.stringify(json)}`);
		}
	}
}

/** Longest time in which a job waits beside a worker that asks for one, ms; a slow disk takes some seconds. */
const HAND_OUT_MS = 8000;

/** Between two checks of what a server hands out, ms; after a longer time it was paused. */
const HAND_OUT_CHECK_MS = 1000;

/**
 * A job that waits is handed to a worker that asks for one. `endpoints` are those that are checked, by one server after
 * another: one that loses a job is deleted, since the next attempt may be kept from the worker of the one before (D16),
 * also by a server that starts later.
 */
export async function watchHandOuts(
	{ engine, events, store, process }: { engine: Engine; events: EventBus; store: Store; process: Process },
	endpoints: Set<string>,
	late: (what: string) => void,
): Promise<void> {
	events.on(["job.returned", "worker.exited"], ({ endpoint }) => void endpoints.delete(endpoint));
	const { registry } = engine.workers;
	const { clock } = process;
	const asks = (endpoint: string): boolean =>
		[...registry.of(endpoint)].some(
			(each) => each.ready && !each.draining && !each.sleep && each.held.size === 0 && [...each.polls].length > 0,
		);
	/** None while the store cannot be read. */
	const waiting = (endpoint: string): Promise<number> =>
		store.jobs.waiting({ endpoint, now: engine.kernel.now() }).then(
			({ jobs }) => jobs,
			() => 0,
		);
	const waitsSince = new Map<string, number>();
	for (let checkedAt = clock.now(); process.alive; ) {
		await clock.sleep(HAND_OUT_CHECK_MS);
		if (clock.now() - checkedAt > 2 * HAND_OUT_CHECK_MS) waitsSince.clear();
		checkedAt = clock.now();
		for (const endpoint of endpoints) {
			const jobs = asks(endpoint) ? await waiting(endpoint) : 0;
			const since = waitsSince.get(endpoint) ?? checkedAt;
			if (jobs === 0) waitsSince.delete(endpoint);
			else waitsSince.set(endpoint, since);
			if (jobs > 0 && checkedAt - since > HAND_OUT_MS)
				late(`${jobs} jobs of ${endpoint} wait beside a worker that asks for one`);
		}
	}
}
