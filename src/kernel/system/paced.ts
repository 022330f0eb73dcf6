import type { Clock } from "./clock.ts";

/**
 * Returns what calls `run`: `burst` times at once, then at most once per `everyMs`. A call in between leads to one run
 * later, however many there are.
 */
export function paced(
	run: () => void,
	{ clock, burst, everyMs }: { clock: Pick<Clock, "now" | "sleep">; burst: number; everyMs: number },
): () => void {
	/** When a whole burst is possible again. */
	let restedAt = -Infinity;
	let isPending = false;

	function runNow(): void {
		restedAt = Math.max(restedAt, clock.now()) + everyMs;
		run();
	}

	return () => {
		if (isPending) return;
		const waitMs = restedAt - clock.now() - (burst - 1) * everyMs;
		if (waitMs <= 0) return runNow();
		isPending = true;
		void clock.sleep(waitMs).then(() => {
			isPending = false;
			runNow();
		});
	};
}
