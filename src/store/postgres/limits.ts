/**
 * Requests of all servers together, counted in the database (D24): what is asked for in one call is
 * one statement, in one round trip, that waits for no disk.
 */
import type { LimitAnswer, LimitAsk, LimitStore } from "../contract/limits.ts";
import { numbers, texts } from "./connection/arrays.ts";
import { statement } from "./connection/statement.ts";
import type { Runner, Value } from "./connection/statement.ts";

const TAKE = statement(
	"SELECT granted, used, oldest, free_at FROM take_limits($1, $2, $3, $4, $5::text[], $6::text[], $7::int8[], $8::int8[], $9::int8[], $10::int8[])",
);

// What somebody is counting in is not idle: it is passed over, so that nobody waits here while
// others wait for what this holds.
const FORGET_TIMES = statement(`
  WITH idle AS (SELECT endpoint, operation FROM limit_budgets WHERE newest <= $1 FOR UPDATE SKIP LOCKED),
    budgets AS (DELETE FROM limit_budgets USING idle WHERE limit_budgets.endpoint = idle.endpoint AND limit_budgets.operation = idle.operation)
  DELETE FROM limit_times USING idle WHERE limit_times.endpoint = idle.endpoint AND limit_times.operation = idle.operation`);
const FORGET_PLACES = statement(`
  WITH ended AS (SELECT endpoint, operation, server FROM limit_places WHERE until <= $1 FOR UPDATE SKIP LOCKED)
  DELETE FROM limit_places USING ended
  WHERE limit_places.endpoint = ended.endpoint AND limit_places.operation = ended.operation AND limit_places.server = ended.server`);

/**
 * `run` is prompt, on a connection where nobody else's transaction is in the way, and in nobody's
 * way when somebody holds a budget for long.
 */
export function openLimits({ run: { run } }: { run: Runner }): LimitStore {
	return {
		async take({ server, asks, windowMs, aliveMs, now }) {
			// In one order everywhere: whoever locks several budgets never waits for one who waits for
			// it.
			const sorted = asks
				.map((ask, index) => ({ ask, index }))
				.toSorted((a, b) => order(a.ask, b.ask));
			const column = <T>(of: (ask: LimitAsk) => T): T[] => sorted.map(({ ask }) => of(ask));
			const { rows } = await run(TAKE, [
				server,
				now,
				windowMs,
				now + aliveMs,
				texts(column(({ endpoint }) => endpoint)),
				texts(column(({ operation }) => operation)),
				numbers(column(({ per10s }) => per10s)),
				numbers(column(({ concurrent }) => concurrent)),
				numbers(column(({ held }) => held)),
				numbers(column(({ count }) => count)),
			]);
			const answers: LimitAnswer[] = [];
			for (const [row, { index }] of sorted.entries()) answers[index] = answerFrom(rows[row]!);
			return answers;
		},

		async forget({ windowMs, now }) {
			await Promise.all([run(FORGET_TIMES, [now - windowMs]), run(FORGET_PLACES, [now])]);
		},
	};
}

function order(a: LimitAsk, b: LimitAsk): number {
	if (a.endpoint !== b.endpoint) return a.endpoint < b.endpoint ? -1 : 1;
	return a.operation < b.operation ? -1 : Number(a.operation > b.operation);
}

function answerFrom(values: readonly Value[]): LimitAnswer {
	const [granted, used, oldest, freeAt] = values as [number, number, number | null, number | null];
	return { granted, used, oldest: oldest ?? undefined, freeAt: freeAt ?? undefined };
}
