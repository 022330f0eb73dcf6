import { DatabaseError } from "pg";
import { migrate, type Migration, type MigrationTarget, pending, readMigrations } from "../migrate.ts";
import { connected, LOCK_MS, SCHEMA, type Setup, usable } from "./connection/setup.ts";

/** Maximum wait for another server's migration, ms. */
const WAIT_MS = 600_000;

const LOCK_NOT_AVAILABLE = "55P03";

/** Comment on the table `migrations`, which identifies a store. */
const MARK = "Sluice store";

/** High half (SLUI) of the key of the advisory lock for migrations; the low half is the schema. */
const LOCK = 0x534c5549;

// Ignores relations of extensions.
const RELATIONS = `
  SELECT relname AS name, obj_description(oid, 'pg_class') AS comment FROM pg_class
  WHERE relnamespace = ${SCHEMA} AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
    AND NOT EXISTS (
      SELECT FROM pg_depend
      WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e'
    )`;

function known(): Migration[] {
	return readMigrations(new URL("./migrations/", import.meta.url));
}

/**
 * Returns the applied migrations; servers that start together wait for each other. Throws `StoreUnavailable`
 * (`unreachable`) without a connection, an Error for the operator when the database cannot be a store of this version.
 */
export async function prepareSchema({ url }: { url: string }): Promise<Migration[]> {
	return await connected(url, async (database) => {
		const { may_create: mayCreate, schema, role } = await usable(database);
		const target = targetOf(database);
		// With nothing to apply, neither the lock nor CREATE permission is needed.
		if ((await pending(target, known())).length === 0) return [];
		if (!mayCreate)
			throw new Error(
				`The role ${role} may not create tables in the schema ${schema} of ${database.name}. ` +
					`As its owner: GRANT CREATE ON SCHEMA ${schema} TO ${role}.`,
			);
		await alone(database);
		return await migrate(target, known());
	});
}

/** Changes nothing. Throws like {@link prepareSchema}. */
export async function pendingMigrations({ url }: { url: string }): Promise<Migration[]> {
	return await connected(url, async (database) => {
		await usable(database);
		return await pending(targetOf(database), known());
	});
}

async function alone({ name, ask }: Setup): Promise<void> {
	try {
		await ask(`SELECT set_config('lock_timeout', '${WAIT_MS}', false)`);
		await ask(`SELECT pg_advisory_lock(((${LOCK})::bigint << 32) | ${SCHEMA}::bigint)`);
		await ask(`SELECT set_config('lock_timeout', '${LOCK_MS}', false)`);
	} catch (error) {
		const { cause } = error as Error;
		if (!(cause instanceof DatabaseError) || cause.code !== LOCK_NOT_AVAILABLE) throw error;
		throw new Error(
			`Another server has been migrating ${name} for ${WAIT_MS / 60_000} minutes. ` +
				"Check pg_stat_activity for what it is doing.",
			{ cause },
		);
	}
}

function targetOf({ name, ask }: Setup): MigrationTarget {
	return {
		name,
		async owner() {
			const relations = await ask<{ name: string; comment: string | null }>(RELATIONS);
			if (relations.length === 0) return "empty";
			return relations.some((each) => each.name === "migrations" && each.comment === MARK) ? "sluice" : "other";
		},
		async prepare() {
			await ask(
				`CREATE TABLE IF NOT EXISTS migrations (number integer PRIMARY KEY, name text NOT NULL);
				COMMENT ON TABLE migrations IS '${MARK}'`,
			);
		},
		async applied() {
			return await ask<{ number: number; name: string }>("SELECT number, name FROM migrations");
		},
		async apply(migration) {
			await ask("BEGIN");
			try {
				const added = await ask(
					`INSERT INTO migrations (number, name) VALUES ($1, $2)
						ON CONFLICT DO NOTHING RETURNING number`,
					[migration.number, migration.name],
				);
				if (added.length > 0) await ask(migration.sql);
				await ask("COMMIT");
				return added.length > 0;
			} catch (error) {
				await ask("ROLLBACK").catch(() => {});
				throw new Error(`The migration ${migration.name} failed and was rolled back. ${(error as Error).message}`, {
					cause: error,
				});
			}
		},
	};
}
