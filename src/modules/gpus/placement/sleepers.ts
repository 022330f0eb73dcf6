/** Which workers sleep instead of being stopped, and which of those are stopped (D28). */
import { durationText } from "../../../kernel/core/durations.ts";
import type { Kernel } from "../../../kernel/module.ts";
import type { Worker } from "../../../kernel/engine/workers/worker-registry.ts";

export function sleepers({
	now,
	endpoints,
	workers,
	scaling,
}: Pick<Kernel, "now" | "endpoints" | "workers" | "scaling">) {
	const { registry, sleep, launcher } = workers;
	const { stop } = scaling;

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
			const ids = new Set([...registry.all()].filter(sleep.isAsleep).map(({ endpoint }) => endpoint));
			for (const id of [...ids].filter((each) => endpoints.has(each))) {
				const { workersMax } = endpoints.get(id);
				const all = of(id);
				const staying = [...registry.of(id)].filter((each) => each.managed && !launcher.isLeaving(each));
				const most = Math.max(0, all.length - Math.max(0, staying.length - workersMax));
				for (const [index, worker] of all.entries()) {
					const why = index < most ? stopFor(worker) : `there are more than workersMax, which is ${workersMax}`;
					if (why !== undefined) stop(worker, why);
				}
			}
		},
	};
}
