/** Addresses and databases of a test's PostgreSQL, for any process that knows how to reach it. */
import { randomBytes } from "node:crypto";
import { Client } from "pg";

/** The role that tests connect as: it owns its databases and may do nothing else. */
export const ROLE = "sluice";

/** How a server is reached: plain data, so that it can be sent to another process. */
export interface PostgresAccess {
	/** On 127.0.0.1. */
	port: number;
	/** The folder of its Unix socket. */
	socketDir: string;
	/** Of {@link ROLE} and of the superuser `postgres`. */
	password: string;
}

/** A database of a test's own, empty. */
export interface TestDatabase {
	name: string;
	/** `postgres://...` as {@link ROLE}, which owns it. */
	url: string;
	/** Removes it, in spite of connections. Ending the server does it too. */
	drop(): Promise<void>;
}

/** What a test asks of a server that runs. */
export interface PostgresDatabases {
	/** `postgres://...` of a database, as {@link ROLE}. */
	url(database: string): string;
	/** The same as the superuser. */
	adminUrl(database: string): string;
	createDatabase(): Promise<TestDatabase>;
}

/** For the server at `access`. */
export function databasesAt(access: PostgresAccess): PostgresDatabases {
	const urlOf = (role: string, database: string): string =>
		`postgres://${role}:${access.password}@127.0.0.1:${access.port}/${database}`;
	const url = (database: string): string => urlOf(ROLE, database);
	return {
		url,
		adminUrl: (database) => urlOf("postgres", database),
		async createDatabase() {
			const name = `test_${randomBytes(6).toString("hex")}`;
			await asAdmin(access, `create database ${name} owner ${ROLE} template template0`);
			return {
				name,
				url: url(name),
				drop: () => asAdmin(access, `drop database if exists ${name} with (force)`),
			};
		},
	};
}

/** Makes {@link ROLE}; once for a server. */
export async function createRole(access: PostgresAccess): Promise<void> {
	await asAdmin(access, `create role ${ROLE} login nosuperuser nocreatedb nocreaterole password '${access.password}'`);
}

async function asAdmin({ port, socketDir, password }: PostgresAccess, statement: string): Promise<void> {
	const client = new Client({
		host: socketDir,
		port,
		user: "postgres",
		database: "postgres",
		password,
	});
	await client.connect();
	try {
		await client.query(statement);
	} finally {
		await client.end();
	}
}
