/**
 * Liveness of other servers' sessions (D7 Delivery). A session is missing for a moment while its connection is
 * replaced. It counts as over only when missed twice: no chunk may be delivered by two readers.
 */
import type { Clock } from "../../../system/clock.ts";

/** First number of the advisory locks that servers hold while alive; the second is the session. */
export const SESSION_LOCKS = 0x534c_0003;

/** How long a server has to reconnect, ms. */
const BACK_MS = 1000;

/** Checks further apart than this do not count as successive, ms. */
const APART_MS = 5000;

export type SessionLiveness = ReturnType<typeof openSessionLiveness>;

export function openSessionLiveness(clock: Clock) {
	const missed = new Map<number, { since: number; last: number }>();
	return {
		/** Returns whether a session is over. Call after each check of the session. */
		isOver(session: number, shown: boolean): boolean {
			const now = clock.now();
			for (const [each, { last }] of missed) if (now - last > APART_MS || now < last) missed.delete(each);
			if (shown) missed.delete(session);
			else missed.set(session, { since: missed.get(session)?.since ?? now, last: now });
			return !shown && now - missed.get(session)!.since >= BACK_MS;
		},
		/**
		 * Waits until it is known of every missed session whether it is over. True if it waited: check the sessions again.
		 */
		async settled(): Promise<boolean> {
			const since = Math.max(...[...missed.values()].map((each) => each.since));
			const left = since + BACK_MS - clock.now();
			// `since` is -Infinity when none was missed.
			if (!(left > 0)) return false;
			await clock.sleep(left);
			return true;
		},
	};
}
