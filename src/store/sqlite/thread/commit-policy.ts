/**
 * Whether workers take jobs as fast as they come. Then a claim is likely to follow new jobs in the
 * same turn of the service's thread, and a commit before it would write their rows twice; otherwise
 * commits are better made while the service's thread reads on (decision 0023).
 */
import type { Queues } from "../rows/queues.ts";

export function openDemand(queues: Pick<Queues, "left">) {
	let keepsUp = false;
	let before = 0;

	return {
		get keepsUp(): boolean {
			return keepsUp;
		},

		/**
		 * To be told at the end of each transaction, before its commit, and whether there was a claim
		 * in it.
		 */
		note(claimed: boolean): void {
			const left = queues.left();
			if (claimed) keepsUp = left === 0;
			// Nobody has claimed since the commit before, after which jobs waited: whoever did is busy,
			// or gone.
			else if (before > 0 && left > before) keepsUp = false;
			before = left;
		},
	};
}
