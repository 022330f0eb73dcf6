/** Why an endpoint lacks workers, as text: when the next one starts, and what the last one printed. */
import type { WorkerReason } from "../api/workers.ts";
import { reasonText } from "../core/workers/worker-reason.ts";

/** One line. `now`: time of day, ms. */
export function explained({ retryAt, lastLine, ...reason }: Omit<WorkerReason, "code">, now: number): string {
	const seconds = retryAt === undefined ? 0 : Math.ceil((Date.parse(retryAt) - now) / 1000);
	return [
		reasonText(reason),
		...(seconds > 0 ? [`Next start in ${seconds} s.`] : []),
		...(lastLine === undefined ? [] : [`It printed: ${lastLine}`]),
	].join(" ");
}
