/**
 * Databases with the schema of a store. One that was given back is emptied for the next who asks:
 * making and dropping databases costs PostgreSQL checkpoints, some hundred times what emptying one
 * does.
 */
import { Client } from "pg";
import { prepareSchema } from "../../src/kernel/store/postgres/schema.ts";
import { postgres } from "./postgres.ts";

/** A database of one store alone, without rows. */
export interface StoreDatabase {
	url: string;
	/**
	 * To be called once what used it has ended: another test will get it. Without it the database
	 * goes with the run.
	 */
	giveBack(): void;
}

const free: string[] = [];

// A client that is still connected was killed: it is waited for, or it might write yet.
const END_OTHERS =
	"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() " +
	"AND usename = current_user AND pid <> pg_backend_pid()";
// Those that refer to others come last.
const TABLES = `
  SELECT quote_ident(relname) AS name FROM pg_class
  WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'migrations'
  ORDER BY EXISTS (SELECT 1 FROM pg_constraint WHERE conrelid = pg_class.oid AND contype = 'f'), name`;
const SEQUENCES =
	"SELECT quote_ident(sequencename) AS name, last_value::text AS last FROM pg_sequences " +
	"WHERE schemaname = 'public' AND last_value IS NOT NULL";

/** Runs statements on a connection of their own. */
async function on<T>(url: string, work: (client: Client, tables: string[]) => Promise<T>): Promise<T> {
	const client = new Client({ connectionString: url });
	await client.connect();
	try {
		const { rows } = await client.query<{ name: string }>(TABLES);
		return await work(
			client,
			rows.map(({ name }) => name),
		);
	} finally {
		await client.end();
	}
}

/** Ends all sessions of a database, those of services that use it. */
export const endSessions = (url: string): Promise<void> =>
	on(url, async (client) => void (await client.query(END_OTHERS)));

async function made(): Promise<string> {
	const { url } = await (await postgres()).createDatabase();
	await prepareSchema({ url });
	return url;
}

async function emptied(url: string): Promise<string> {
	await on(url, async (client, tables) => {
		await client.query(END_OTHERS);
		await client.query(tables.map((name) => `DELETE FROM ${name};`).join("\n"));
	});
	return url;
}

/** A database of the caller's own. */
export async function storeDatabase(): Promise<StoreDatabase> {
	const used = free.pop();
	const url = used === undefined ? await made() : await emptied(used);
	return { url, giveBack: () => void free.push(url) };
}

/** Everything that a store holds, as text. */
export function allRows(url: string): Promise<string> {
	return on(url, async (client, tables) => {
		const all: string[] = [];
		for (const name of tables)
			all.push(
				...(await client.query<{ text: string }>(`SELECT each::text AS text FROM ${name} AS each`)).rows.map(
					({ text }) => text,
				),
			);
		return all.join("\n");
	});
}

/** Copies all rows of one store to another one that has none, as they are at this moment. */
export async function copyRows({ from, to }: { from: string; to: string }): Promise<void> {
	await on(from, async (source, tables) => {
		await on(to, async (target) => {
			for (const name of tables) {
				const { rows } = await source.query<{ all: string | null }>(
					`SELECT json_agg(each)::text AS all FROM ${name} AS each`,
				);
				await target.query(
					`INSERT INTO ${name} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${name}, $1)`,
					[rows[0]?.all ?? "[]"],
				);
			}
			for (const { name, last } of (await source.query<{ name: string; last: string }>(SEQUENCES)).rows)
				await target.query("SELECT setval($1, $2)", [name, last]);
		});
	});
}
