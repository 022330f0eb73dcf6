import type { Clock } from "../../../system/clock.ts";
import type { Connection } from "./connection.ts";
import { faultOf } from "./errors.ts";
import type { Runner } from "./statement.ts";

/**
 * Waits for `ms`. True when they have passed, false once `answered` is aborted. After a long turn of the event loop, an
 * answer that has arrived is read first.
 */
export async function late(clock: Clock, ms: number, answered: AbortSignal): Promise<boolean> {
	await clock.sleep(ms, answered);
	if (!answered.aborted) await new Promise((resolve) => setImmediate(resolve));
	return !answered.aborted;
}

/**
 * Returns a runner whose statements must be answered within `silentMs`; otherwise the connection is dropped. Throws as
 * {@link faultOf} says.
 */
export function timeoutRunner(
	connection: Pick<Connection, "run" | "drop">,
	name: string,
	clock: Clock,
	silentMs: number,
): Runner {
	return {
		async run(asked, values) {
			const answered = new AbortController();
			void late(clock, silentMs, answered.signal).then((isLate) => isLate && connection.drop());
			try {
				return await connection.run(asked, values);
			} catch (error) {
				throw faultOf(error, name);
			} finally {
				answered.abort();
			}
		},
	};
}
