/** Runs operations on the small tables: reads on any connection, changes in a transaction of their own. */
import type { Signal } from "../contract/store.ts";
import type { OpName, TableOperation } from "../operations/operation.ts";
import type { Sql, Step, Work } from "../tables/work.ts";
import type { Database } from "./connection/database.ts";
import { type Runner, statement, type Statement } from "./connection/statement.ts";
import { isStorable } from "./rows/storable.ts";

/** `notifyOthers` is called after the commit. */
export interface TableContext {
	database: Pick<Database, "read" | "write">;
	notifyOthers: (signal: Signal) => void;
}

const statements = new Map<string, Statement>();

function statementOf(text: string): Statement {
	const found = statements.get(text) ?? statement(text);
	statements.set(text, found);
	return found;
}

/** Whether no row can match, since a text among the values cannot be stored. */
function matchesNothing({ text }: Sql, values: readonly unknown[]): boolean {
	return !/^\s*INSERT/.test(text) && values.some((value) => typeof value === "string" && !isStorable(value));
}

async function carryOut(step: Step, { run }: Runner, signals: Signal[]): Promise<unknown> {
	if ("read" in step)
		return matchesNothing(step.read, step.values) ? [] : (await run(statementOf(step.read.text), step.values)).rows;
	if ("change" in step)
		return matchesNothing(step.change, step.values) ? 0 : (await run(statementOf(step.change.text), step.values)).count;
	if ("lock" in step) return await run(statementOf(`LOCK TABLE ${step.lock} IN SHARE ROW EXCLUSIVE MODE`));
	signals.push({ kind: step.notify });
	return undefined;
}

async function answerOf<A>(work: Work<A>, runner: Runner, signals: Signal[]): Promise<A> {
	for (let step = work.next(); ; step = work.next(await carryOut(step.value, runner, signals)))
		if (step.done) return step.value;
}

/** Returns the method of the contract that a table operation is. */
export function tableMethod<N extends OpName>(
	{ kind, work }: TableOperation<N>,
	{ database: { read, write }, notifyOthers }: TableContext,
): (q: never) => Promise<unknown> {
	if (kind === "read") return (q) => answerOf(work(q), read, []);
	return async (q) => {
		// The transaction may run the work several times; signals of the last time count.
		const { answer, signals } = await write(async (runner) => {
			const signals: Signal[] = [];
			return { answer: await answerOf(work(q), runner, signals), signals };
		});
		for (const signal of signals) notifyOthers(signal);
		return answer;
	};
}
