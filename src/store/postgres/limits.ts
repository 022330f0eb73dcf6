/** Request limits across all servers (D24): one statement per call, not flushed to disk. */
import type { LimitAnswer, LimitAsk, LimitStore } from "../contract/limits.ts";
import { numbers, texts } from "./connection/arrays.ts";
import { type Runner, statement, type Value } from "./connection/statement.ts";

const TAKE = statement(
	`SELECT granted, used, oldest, free_at FROM take_limits($1, $2, $3, $4,
		$5::text[], $6::text[], $7::int8[], $8::int8[], $9::int8[], $10::int8[])`,
);

// Locked rows are in use and skipped, so that this never waits while holding locks.
const FORGET_TIMES = statement(`
  WITH idle AS (
    SELECT endpoint, operation FROM limit_budgets WHERE newest <= $1 FOR UPDATE SKIP LOCKED
  ), budgets AS (
    DELETE FROM limit_budgets AS budget USING idle
    WHERE budget.endpoint = idle.endpoint AND budget.operation = idle.operation
  )
  DELETE FROM limit_times AS times USING idle
  WHERE times.endpoint = idle.endpoint AND times.operation = idle.operation`);
const FORGET_PLACES = statement(`
  WITH ended AS (
    SELECT endpoint, operation, server FROM limit_places WHERE until <= $1 FOR UPDATE SKIP LOCKED
  )
  DELETE FROM limit_places AS place USING ended
  WHERE place.endpoint = ended.endpoint AND place.operation = ended.operation
    AND place.server = ended.server`);

/** `run` needs its own connection: a call may wait while another server holds a budget. */
export function openLimits({ run: { run } }: { run: Runner }): LimitStore {
	return {
		async take({ server, asks, windowMs, aliveMs, now }) {
			// Fixed lock order: prevents deadlocks.
			const sorted = asks.map((ask, index) => ({ ask, index })).toSorted((a, b) => order(a.ask, b.ask));
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
