import type { Sql, Value, Work } from "../tables/work.ts";
import type { Statement } from "./file/database.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";

export type RunWork = <A>(work: Work<A>) => A;

export function openTables({ db, signals }: Pick<UnitOfWork, "db" | "signals">): RunWork {
	const prepared = new Map<Sql, Statement>();

	function statementOf(sql: Sql): Statement {
		const statement = prepared.get(sql) ?? db.prepare(sql.sqlite.replaceAll(/\$(?=\d)/g, "?"));
		prepared.set(sql, statement);
		return statement;
	}

	const bound = (values: readonly Value[]) =>
		values.map((value) => (typeof value === "boolean" ? Number(value) : value));

	return (work) => {
		for (let step = work.next(); ; ) {
			if (step.done) return step.value;
			const { value } = step;
			if ("read" in value) step = work.next(statementOf(value.read).all(...bound(value.values)));
			else if ("change" in value)
				step = work.next(Number(statementOf(value.change).run(...bound(value.values)).changes));
			else {
				// This thread is the only writer, and no other server shares the file.
				if ("signal" in value) signals.add({ kind: value.signal });
				step = work.next();
			}
		}
	};
}
