/** Reports a job's progress as `{percent}`, when it has changed. */
import type { Clock } from "../../clock.ts";
import type { ProgressMapping } from "../mapping/mapping.ts";
import { atPointer } from "../mapping/template.ts";

export interface ProgressOptions {
	progress: ProgressMapping;
	report: (value: { percent: number }) => Promise<void>;
	clock: Clock;
}

/** Takes JSON of the server. Reports are at least `everyMs` apart; those in between are dropped. */
export function createProgress({ progress, report, clock }: ProgressOptions): (value: unknown) => void {
	let last: number | undefined;
	let reportedAt = -Infinity;
	return (value) => {
		const found = atPointer(value, progress.percent);
		if (typeof found !== "number" || !Number.isFinite(found)) return;
		const percent = Math.round(Math.min(100, Math.max(0, found * progress.scale)) * 10) / 10;
		const now = clock.now();
		if (percent === last || now - reportedAt < progress.everyMs) return;
		last = percent;
		reportedAt = now;
		void report({ percent });
	};
}

/** Asks `read` for JSON every `everyMs` until `ended` aborts. Failures are left out: progress is only shown. */
export async function pollProgress(
	read: () => Promise<unknown>,
	{
		everyMs,
		clock,
		ended,
		onValue,
	}: { everyMs: number; clock: Clock; ended: AbortSignal; onValue: (value: unknown) => void },
): Promise<void> {
	for (;;) {
		await clock.sleep(everyMs, ended);
		if (ended.aborted) return;
		const value = await read().catch(() => undefined);
		if (!ended.aborted) onValue(value);
	}
}
