/** Which workers sleep instead of being stopped, and which of those are stopped (D28). */
import { durationText } from "../../core/durations.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { Workers } from "../workers/workers.ts";
import type { Worker } from "../workers/worker-registry.ts";
import type { EngineContext } from "../context.ts";

interface Deps extends Pick<EngineContext, "now"> {
	endpoints: Endpoints;
	workers: Workers;
	stop: (worker: Worker, why: string) => void;
}

export function sleepers({ now, endpoints, workers: { registry, sleep, launcher }, stop }: Deps) {
	/** Returns those of the endpoint that can be woken, the last ones to fall asleep first. */
	function of(endpoint: string): Worker[] {
		return [...registry.of(endpoint)]
			.filter(sleep.isAsleep)
			.toSorted((a, b) => (b.sleep?.since ?? 0) - (a.sleep?.since ?? 0));
	}

	function stopFor(worker: Worker): string | undefined {
		const settings = sleep.settingsOf(worker);
		if (!settings) return "it sleeps, and its endpoint has no sleep any more";
		const isTooLong = now() - worker.sleep!.since >= settings.maxMs;
		return isTooLong ? `it slept for over ${durationText(settings.maxMs)} (sleep.maxMs)` : undefined;
	}

	return {
		of,
		/** Stops those that have slept too long, that nothing wakes any more, and those over workersMax. */
		stopSurplus(): void {
			for (const { endpoint } of endpoints.all()) {
				const all = of(endpoint.id);
				if (all.length === 0) continue;
				const staying = [...registry.of(endpoint.id)].filter((each) => each.managed && !launcher.isLeaving(each));
				const most = Math.max(0, all.length - Math.max(0, staying.length - endpoint.workersMax));
				for (const [index, worker] of all.entries()) {
					const why =
						index < most ? stopFor(worker) : `there are more than workersMax, which is ${endpoint.workersMax}`;
					if (why !== undefined) stop(worker, why);
				}
			}
		},
	};
}
