/** Gives a copy that runs in addition to its original an identity of its own (D46). */
import { UnitOfWork } from "../rows/unit-of-work.ts";
import type { Row } from "../rows/row.ts";
import type { Database } from "./database.ts";
import { newIdentity, putIdentity } from "./stored-secrets.ts";

/**
 * Renews the identity. In the same transaction the copy forgets the launched workers, which remain those of the
 * original. Their jobs wait again, and no loss is counted.
 */
export function renewIdentity(
	db: Database,
	{ checkOf, now }: { checkOf: (identity: string) => string; now: number },
): void {
	const unit = new UnitOfWork(db);
	unit.transaction(() => {
		const identity = newIdentity();
		putIdentity(db, { identity, check: checkOf(identity) });
		forgetWorkers(unit, now);
	});
}

function forgetWorkers(unit: UnitOfWork, now: number): void {
	const held: Row[] = [];
	for (const row of unit.db.prepare("SELECT endpoint, id FROM workers").all()) {
		const holder = { endpoint: String(row[0]), worker: String(row[1]) };
		held.push(...unit.records.runningOn(holder));
		for (const { row: job, past } of unit.attempts.openOf(holder)) unit.attempts.close(job, past);
	}
	// Each joins the front of its queue: the last claimed first keeps their order.
	for (const row of held.toSorted((a, b) => b.rank - a.rank))
		unit.transitions.apply(row, "release", { now, over: true });
	unit.db.exec("DELETE FROM tokens WHERE worker IN (SELECT id FROM workers); DELETE FROM workers");
}
