/** Each endpoint whose jobs wait gets a worker in the end, also if others have the GPUs (D28). */
import type { Api } from "../torture/api.ts";
import type { Time } from "../torture/time.ts";

/** Longest simulated time in which jobs of an endpoint wait and none of them runs, ms. */
export const TURN_MS = 300_000;

const LOOK_MS = 10_000;

/** Checks until the signal; `late` gets what waits for too long. */
export async function watchTurns(
	{ api, time, endpoints }: { api: Api; time: Time; endpoints: readonly string[] },
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
			const ms = time.now() - since;
			if (ms > TURN_MS) late(`jobs of ${id} wait for ${Math.round(ms / 1000)} s: ${JSON.stringify(json)}`);
		}
	}
}
