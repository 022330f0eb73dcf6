/**
 * Sessions of servers that others do not see (D7 Delivery): one whose connection was lost shows
 * itself again in a moment, one whose server died does not. So none counts as over before it was
 * missed twice, and what its readers write meanwhile is not written by another one too.
 */
import type { Clock } from "../../../clock.ts";

/**
 * First number of the advisory locks that server sessions hold as long as they live; the second is
 * the session's.
 */
export const SESSION_LOCKS = 0x534c_0003;

/**
 * How long a server has to show itself again, ms: a connection that was cut is made again in less.
 */
const BACK_MS = 1000;

/** Looks that are further apart than this say nothing together, ms. */
const APART_MS = 5000;

/** What this server has seen of others' sessions. */
export interface SessionLiveness {
	/** It was looked for just now. Answers whether it is over. */
	isOver(session: number, shown: boolean): boolean;
	/**
	 * Resolves when it is certain whether sessions missed so far are over: true if there are any
	 * that were not before.
	 */
	settled(): Promise<boolean>;
}

export function openSessionLiveness(clock: Clock): SessionLiveness {
	const missed = new Map<number, { since: number; last: number }>();
	return {
		isOver(session, shown) {
			const now = clock.now();
			for (const [each, { last }] of missed)
				if (now - last > APART_MS || now < last) missed.delete(each);
			if (shown) missed.delete(session);
			else missed.set(session, { since: missed.get(session)?.since ?? now, last: now });
			return !shown && now - missed.get(session)!.since >= BACK_MS;
		},
		async settled() {
			const since = Math.max(...[...missed.values()].map((each) => each.since));
			const left = since + BACK_MS - clock.now();
			// Without any there is nothing to wait for.
			if (!(left > 0)) return false;
			await clock.sleep(left);
			return true;
		},
	};
}
