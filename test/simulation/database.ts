/**
 * The database of a simulation: SQLite in memory with the schema, statements and rules of the
 * service. It is emptied for the next schedule and keeps its statements. Statements can fail as on a
 * disk that is full or broken.
 */
import { DatabaseSync } from "node:sqlite";
import { StoreUnavailable } from "../../src/kernel/store/contract/store.ts";
import type { Database, Statement } from "../../src/kernel/store/sqlite/file/database.ts";
import { prepareSchema } from "../../src/kernel/store/sqlite/file/schema.ts";

const SQLITE_FULL = 13;

/** What the disk does with writes. */
export interface DiskFaults {
	/** Called before each statement that writes, and before each COMMIT: true when it fails. */
	failsNext(statement: "write" | "commit"): boolean;
	/** After a commit: whether it is unknown if the file still exists. */
	isMoved(): boolean;
}

const HEALTHY: DiskFaults = { failsNext: () => false, isMoved: () => false };

export interface SimulatedDatabase extends Database {
	faults: DiskFaults;
	/** Removes what a schedule has left. */
	clear(): void;
}

export async function openSimulatedDatabase(): Promise<SimulatedDatabase> {
	const db = new DatabaseSync(":memory:", {
		returnArrays: true,
		enableForeignKeyConstraints: false,
	});
	db.exec("PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192");
	const statements = new Map<string, Statement>();
	let rows: string[] = [];
	let moved = false;

	function fail(statement: "write" | "commit"): void {
		if (!database.faults.failsNext(statement)) return;
		// Most failed writes end the transaction; SQLite decides.
		if (statement === "commit" && db.isTransaction) db.exec("ROLLBACK");
		throw Object.assign(new Error("database or disk is full"), { errcode: SQLITE_FULL });
	}

	function prepare(sql: string): Statement {
		const statement = db.prepare(sql) as unknown as Statement;
		const kind = /^\s*COMMIT/i.test(sql) ? "commit" : isWrite(sql) ? "write" : undefined;
		if (kind === undefined) return statement;
		return {
			get: (...values) => (fail(kind), statement.get(...values)),
			all: (...values) => (fail(kind), statement.all(...values)),
			iterate: (...values) => (fail(kind), statement.iterate(...values)),
			run: (...values) => (fail(kind), statement.run(...values)),
		};
	}

	const database: SimulatedDatabase = {
		path: ":memory:",
		faults: HEALTHY,
		prepare(sql) {
			let statement = statements.get(sql);
			if (!statement) statements.set(sql, (statement = prepare(sql)));
			return statement;
		},
		exec: (sql) => db.exec(sql),
		get inTransaction() {
			return db.isTransaction;
		},
		identity: {
			confirm() {
				moved = database.faults.isMoved();
				if (moved) throw new StoreUnavailable("moved", "The file was moved while it was written.");
			},
			admit() {
				if (!moved) return false;
				database.identity.confirm();
				return true;
			},
		},
		copyTo: () => Promise.reject(new Error("A simulated database is not copied.")),
		clear() {
			database.faults = HEALTHY;
			moved = false;
			if (db.isTransaction) db.exec("ROLLBACK");
			db.exec(`BEGIN; ${rows.join("; ")}; COMMIT`);
		},
		close: () => db.close(),
	};
	await prepareSchema(database);
	const kept = new Set(["migrations"]);
	rows = db
		.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
		.all()
		.map((row) => String((row as unknown as string[])[0]))
		.filter((name) => !kept.has(name) && (name === "sqlite_sequence" || !name.startsWith("sqlite_")))
		.map((name) => `DELETE FROM "${name}"`);
	db.exec("INSERT INTO meta (name, value) VALUES ('identity', 'simulated')");
	rows.push("INSERT INTO meta (name, value) VALUES ('identity', 'simulated')");
	return database;
}

function isWrite(sql: string): boolean {
	return /^\s*(INSERT|UPDATE|DELETE|REPLACE|WITH[\s\S]*\b(INSERT|UPDATE|DELETE)\b)/i.test(sql);
}
