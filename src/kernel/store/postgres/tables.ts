import type { Signal } from "../contract/store.ts";
import type { OpName, TableOperation } from "../operations/operation.ts";
import type { Sql, Step, Work } from "../tables/work.ts";
import type { Database } from "./connection/database.ts";
import { type Runner, statement, type Statement, isStorable } from "./connection/statement.ts";

/** Both are called after the commit; `signal` reaches this server's listeners. */
export interface TableContext {
	database: Pick<Database, "read" | "write">;
	signal: (signal: Signal) => void;
	notifyOthers: (signal: Signal) => void;
}

type RunWork = <A>(work: Work<A>) => Promise<A>;

const statements = new Map<string, Statement>();

function statementOf(text: string): Statement {
	const found = statements.get(text) ?? statement(text);
	statements.set(text, found);
	return found;
}

/** A text that cannot be stored matches no row. */
function matchesNothing({ text }: Sql, values: readonly unknown[]): boolean {
	return !/^\s*INSERT/.test(text) && values.some((value) => typeof value === "string" && !isStorable(value));
}

type Announced = Extract<Step, { notify: unknown } | { signal: unknown }>;

async function carryOut(step: Step, { run }: Runner, announced: Announced[]): Promise<unknown> {
	if ("read" in step)
		return matchesNothing(step.read, step.values) ? [] : (await run(statementOf(step.read.text), step.values)).rows;
	if ("change" in step)
		return matchesNothing(step.change, step.values) ? 0 : (await run(statementOf(step.change.text), step.values)).count;
	if ("lock" in step) return await run(statementOf(`LOCK TABLE ${step.lock} IN SHARE ROW EXCLUSIVE MODE`));
	announced.push(step);
	return undefined;
}

async function answerOf<A>(work: Work<A>, runner: Runner, announced: Announced[]): Promise<A> {
	for (let step = work.next(); ; step = work.next(await carryOut(step.value, runner, announced)))
		if (step.done) return step.value;
}

export async function inTransaction<A>(
	{ database, signal, notifyOthers }: TableContext,
	work: (run: RunWork, runner: Runner) => Promise<A>,
): Promise<A> {
	// The transaction may run the work several times; announcements of the last time count.
	const { answer, announced } = await database.write(async (runner) => {
		const announced: Announced[] = [];
		return { answer: await work((steps) => answerOf(steps, runner, announced), runner), announced };
	});
	for (const each of announced)
		if ("notify" in each) notifyOthers({ kind: each.notify });
		else for (const send of [signal, notifyOthers]) send({ kind: each.signal });
	return answer;
}

export function tableMethod<N extends OpName>(
	{ kind, work }: TableOperation<N>,
	context: TableContext,
): (q: never) => Promise<unknown> {
	if (kind === "read") return (q) => answerOf(work(q), context.database.read, []);
	return (q) => inTransaction(context, (run) => run(work(q)));
}
