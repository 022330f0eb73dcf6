/**
 * The PostgreSQL that all contenders share, durable as by default, and what it tells of their
 * statements.
 */
import { Client } from "pg";
import { startPostgres } from "../../test/support/postgres-server.ts";

/** More memory than tests take, and connections for the pools of all. */
const SETTINGS = {
	shared_buffers: "512MB",
	max_wal_size: "4GB",
	max_connections: "300",
	shared_preload_libraries: "pg_stat_statements",
};

/** What is told of the server in a report. */
const FACTS = [
	"server_version",
	"fsync",
	"synchronous_commit",
	"full_page_writes",
	"wal_sync_method",
	"shared_buffers",
];

/**
 * Statements of a database, those inside functions left out, and pages that they touched, in the
 * cache or not.
 */
export interface Work {
	statements: number;
	pages: number;
}

export type Database = Awaited<ReturnType<typeof startDatabase>>;

export async function startDatabase() {
	const server = await startPostgres({ settings: SETTINGS });
	const admin = new Client(server.adminUrl("postgres"));
	await admin.connect();
	await admin.query("CREATE EXTENSION pg_stat_statements");
	const facts: Record<string, string> = {};
	for (const name of FACTS) facts[name] = Object.values<string>((await admin.query(`SHOW ${name}`)).rows[0])[0]!;

	return {
		facts,
		/** An empty database and its URL, as a role that owns it. */
		create: () => server.createDatabase(),
		/** The same database for its superuser. */
		adminUrl: (name: string) => server.adminUrl(name),
		/** All work of a database so far (`pg_stat_statements`). */
		async work(name: string): Promise<Work> {
			const { rows } = await admin.query(
				"SELECT coalesce(sum(calls), 0)::float8 AS statements, coalesce(sum(shared_blks_hit + shared_blks_read), 0)::float8 AS pages FROM pg_stat_statements AS s JOIN pg_database AS d ON d.oid = s.dbid WHERE datname = $1",
				[name],
			);
			return rows[0] as Work;
		},
		/** Every run begins with all pages on disk. */
		checkpoint: async () => void (await admin.query("CHECKPOINT")),
		async stop(): Promise<void> {
			await admin.end();
			await server.remove();
		},
	};
}
