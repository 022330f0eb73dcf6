/**
 * What jobs cost in PostgreSQL: rows, index entries and bytes of its log, statements, bytes on the
 * connections of the service, processor time.
 */
import { execFileSync } from "node:child_process";
import { Client } from "pg";
import { ROLE } from "../../test/support/postgres-databases.ts";
import { serverPid } from "../../test/support/postgres-folder.ts";
import type { PostgresServer } from "../../test/support/postgres-server.ts";
import type { Figures, Meter } from "./meter.ts";
import { familyMicros, processMicros } from "./processor.ts";
import { readWal } from "./wal.ts";

/** No checkpoint and no vacuum during a measurement: both are measured apart. */
export const SETTINGS = {
	shared_buffers: "512MB",
	max_wal_size: "8GB",
	checkpoint_timeout: "1h",
	autovacuum: "off",
	shared_preload_libraries: "pg_stat_statements",
};

/** Statements that are listed of each measurement. */
const LISTED = 8;
/** Enough to recognise one. */
const CHARACTERS = 100;

const RELATIONS = `
  SELECT pg_relation_filenode(r.oid)::text AS file, coalesce(t.relname || ' toast', r.relname) AS name
  FROM pg_class AS r LEFT JOIN pg_class AS t ON t.reltoastrelid = r.oid
  WHERE pg_relation_filenode(r.oid) IS NOT NULL AND r.oid >= 16384`;

const STATEMENTS = `
  SELECT query, calls::float8 AS calls, total_exec_time AS ms FROM pg_stat_statements
  WHERE userid = '${ROLE}'::regrole ORDER BY total_exec_time DESC`;

/** Bytes to and from the server over TCP so far: the service's, this process uses the socket. */
function wire(port: number): { to: number; from: number } {
	const text = execFileSync("ss", ["-tinHO", "sport", "=", `:${port}`], { encoding: "utf8" });
	const sum = (name: string): number =>
		[...text.matchAll(new RegExp(`\\b${name}:(\\d+)`, "g"))].reduce((all, [, bytes]) => all + Number(bytes), 0);
	return { to: sum("bytes_received"), from: sum("bytes_sent") };
}

/** `database`: that of the service with this `pid`. */
export async function postgresMeter(q: { server: PostgresServer; database: string; pid: number }) {
	const { access, dataDir, port } = q.server;
	const postmaster = serverPid(dataDir)!;
	const { socketDir: host, password } = access;
	const admin = new Client({ host, port, user: "postgres", password, database: q.database });
	await admin.connect();
	await admin.query("CREATE EXTENSION pg_stat_statements");

	const place = async (): Promise<string> =>
		(await admin.query<{ at: string }>("SELECT pg_current_wal_flush_lsn()::text AS at")).rows[0]!.at;

	const processors = () => ({ service: processMicros(q.pid), postgres: familyMicros(postmaster) });

	async function statements(): Promise<Figures> {
		const { rows } = await admin.query<{ query: string; calls: number; ms: number }>(STATEMENTS);
		const sum = (of: (row: (typeof rows)[number]) => number): number => rows.reduce((all, row) => all + of(row), 0);
		const listed = rows
			.slice(0, LISTED)
			.map(({ query, calls, ms }): [string, Figures] => [
				query.replaceAll(/\s+/g, " ").trim().slice(0, CHARACTERS),
				{ calls, micros: ms * 1000 },
			]);
		return { calls: sum(({ calls }) => calls), micros: 1000 * sum(({ ms }) => ms), ...Object.fromEntries(listed) };
	}

	const meter: Meter = {
		begin: async () => {
			await admin.query("SELECT pg_stat_statements_reset()");
			const [from, sent, before] = [await place(), wire(port), processors()];
			return async () => {
				const [after, received, to] = [processors(), wire(port), await place()];
				const { rows } = await admin.query<{ bytes: number }>("SELECT ($1::pg_lsn - $2::pg_lsn)::float8 AS bytes", [
					to,
					from,
				]);
				const files = await admin.query<{ file: string; name: string }>(RELATIONS);
				const names = new Map(files.rows.map(({ file, name }) => [file, name]));
				return {
					walBytes: rows[0]!.bytes,
					...readWal({ dataDir, from, to, names }),
					statements: await statements(),
					wireBytes: { toDatabase: received.to - sent.to, fromDatabase: received.from - sent.from },
					processorMicros: {
						all: after.service + after.postgres - before.service - before.postgres,
						service: after.service - before.service,
						postgres: after.postgres - before.postgres,
					},
				};
			};
		},
	};
	return { ...meter, vacuum: () => admin.query("VACUUM"), end: () => admin.end() };
}
