/**
 * Statements that must be answered at once or not at all: their connection is given up when it
 * stays silent, as one does whose other end is gone without a word.
 */
import type { Clock } from "../../../clock.ts";
import type { Connection } from "./connection.ts";
import { faultOf } from "./errors.ts";
import type { Runner } from "./statement.ts";

/**
 * Resolves when `answered` is aborted, or after `ms` with true. An answer that has arrived during a
 * long turn of ours is read first.
 */
export async function late({
	clock,
	ms,
	answered,
}: {
	clock: Clock;
	ms: number;
	answered: AbortSignal;
}): Promise<boolean> {
	await clock.sleep(ms, answered);
	if (!answered.aborted) await new Promise((resolve) => setImmediate(resolve));
	return !answered.aborted;
}

/**
 * A runner on a connection of its own. `silentMs`: the longest wait for an answer, ms; `name`: the
 * database in sentences, without secrets. Throws as {@link faultOf} says.
 */
export function timeoutRunner({
	connection,
	name,
	clock,
	silentMs,
}: {
	connection: Pick<Connection, "run" | "drop">;
	name: string;
	clock: Clock;
	silentMs: number;
}): Runner {
	return {
		async run(asked, values) {
			const answered = new AbortController();
			void late({ clock, ms: silentMs, answered: answered.signal }).then(
				(isLate) => isLate && connection.drop(),
			);
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
