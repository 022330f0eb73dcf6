/**
 * Liveness of other servers' sessions (D7 Delivery). A session may be missing for a moment while
 * its connection is replaced; so it counts as over only when missed twice, and no chunk is
 * delivered by two readers.
 */
import type { Clock } from "../../../clock.ts";

/** First number of the advisory locks that servers hold while alive; the second is the session. */
export const SESSION_LOCKS = 0x534c_0003;

/** How long a server has to reconnect, ms. */
const BACK_MS = 1000;

/** Checks further apart than this do not count as successive, ms. */
const APART_MS = 5000;

export interface SessionLiveness {
	/** Reports a check of the session just made. Returns whether it is over. */
	isOver(session: number, shown: boolean): boolean;
	/**
	 * Waits until every missed session can be decided. True if it waited: check the sessions again.
	 */
	settled(): Promise<boolean>;
}

export function openSessionLiveness(clock: Clock): SessionLiveness {
	const missed = new Map<number, { since: number; last: number }>();
	return {
		isOver(session, shown) {
			const now = clock.now();
			for (const [each, { last }] of missed) if (now - last > APART_MS || now < last) missed.delete(each);
			if (shown) missed.delete(session);
			else missed.set(session, { since: missed.get(session)?.since ?? now, last: now });
			return !shown && now - missed.get(session)!.since >= BACK_MS;
		},
		async settled() {
			const since = Math.max(...[...missed.values()].map((each) => each.since));
			const left = since + BACK_MS - clock.now();
			// Also when none was missed: `since` is then -Infinity.
			if (!(left > 0)) return false;
			await clock.sleep(left);
			return true;
		},
	};
}
