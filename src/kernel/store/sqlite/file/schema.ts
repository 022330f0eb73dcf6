import { migrate, type Migration, type MigrationTarget, pending, readMigrations } from "../../migrate.ts";
import type { Database } from "./database.ts";
import { APPLICATION_ID } from "./file-header.ts";

export function allMigrations(): Migration[] {
	return readMigrations(new URL("../migrations/", import.meta.url));
}

/** Returns the applied migrations. Throws as {@link migrate}. */
export function prepareSchema(db: Database): Promise<Migration[]> {
	return migrate(targetOf(db), allMigrations());
}

export function pendingMigrations(db: Database): Promise<Migration[]> {
	return pending(targetOf(db), allMigrations());
}

function targetOf(db: Database): MigrationTarget {
	const number = (sql: string): number => Number(db.prepare(sql).get()?.[0]);
	return {
		name: db.path,
		async owner() {
			if (number("PRAGMA application_id") === APPLICATION_ID) return "sluice";
			return number("SELECT count(*) FROM sqlite_schema") === 0 ? "empty" : "other";
		},
		async prepare() {
			// Not written again: a full disk would refuse it.
			const tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'migrations'";
			if (number("PRAGMA application_id") === APPLICATION_ID && number(tables) === 1) return;
			inTransaction(db, () => {
				db.exec(
					`PRAGMA application_id = ${APPLICATION_ID};
					CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT`,
				);
			});
		},
		async applied() {
			const applied = db.prepare("SELECT number, name FROM migrations ORDER BY number").all();
			return applied.map(([number, name]) => ({ number: Number(number), name: String(name) }));
		},
		async apply(migration) {
			return inTransaction(db, () => {
				const added = db
					.prepare("INSERT OR IGNORE INTO migrations (number, name) VALUES (?, ?)")
					.run(migration.number, migration.name);
				if (Number(added.changes) === 0) return false;
				db.exec(migration.sql);
				return true;
			});
		},
	};
}

export function inTransaction<T>(db: Database, work: () => T): T {
	db.exec("BEGIN IMMEDIATE");
	try {
		const result = work();
		db.exec("COMMIT");
		return result;
	} catch (error) {
		if (db.inTransaction) db.exec("ROLLBACK");
		throw error;
	}
}
