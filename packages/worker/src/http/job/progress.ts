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
		const factor = progress.of === undefined ? progress.scale : 100 / numberAt(value, progress.of);
		const found = numberAt(value, progress.percent) * factor;
		if (!Number.isFinite(found)) return;
		const percent = Math.round(Math.min(100, Math.max(0, found)) * 10) / 10;
		const now = clock.now();
		if (percent === last || now - reportedAt < progress.everyMs) return;
		last = percent;
		reportedAt = now;
		void report({ percent });
	};
}

/** NaN without a number. One of many digits is written as a text by servers whose readers might round it. */
function numberAt(value: unknown, pointer: string): number {
	const found = atPointer(value, pointer);
	if (typeof found === "string" && /^\d+(?:\.\d+)?$/.test(found)) return Number(found);
	return typeof found === "number" ? found : Number.NaN;
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
