/** A connection for migrations and checks, without the time limits of job statements. Its locks end with it. */
import { Client, type ClientConfig } from "pg";
import { addressOf } from "./database.ts";
import { faultOf, fromDriver, losesConnection } from "./errors.ts";

/** A `server_version_num`. */
const VERSION_NEEDED = 140_000;

/** Maximum waits for a connection and for a lock on a table, ms. */
const CONNECT_MS = 5000;
export const LOCK_MS = 10_000;

export const SCHEMA = "(SELECT oid FROM pg_namespace WHERE nspname = current_schema())";

const FACTS = `
  SELECT current_setting('server_version_num')::int AS number,
    current_setting('server_version') AS version, current_setting('server_encoding') AS encoding,
    quote_ident(current_schema()) AS schema, quote_ident(current_user) AS role,
    pg_is_in_recovery() AS standby,
    has_schema_privilege(current_schema(), 'CREATE') AS may_create`;

export interface Facts {
	number: number;
	version: string;
	encoding: string;
	schema: string | null;
	role: string;
	standby: boolean;
	may_create: boolean | null;
}

export interface Setup {
	name: string;
	/** Runs one statement, or several without values. `int8` values are text. Throws as `faultOf` says. */
	ask<Row extends object>(text: string, values?: readonly (string | number)[]): Promise<Row[]>;
}

/**
 * Runs `work` with a connection. Throws `StoreUnavailable` (`unreachable`) without one, an Error for the operator when
 * it is refused.
 */
export async function connected<T>(url: string, work: (database: Setup) => Promise<T>): Promise<T> {
	const { config, name } = addressOf(url);
	const client = made({ ...config, connectionTimeoutMillis: CONNECT_MS }, name);
	client.on("error", () => {});
	try {
		await client.connect().catch((thrown: unknown) => {
			const error = fromDriver(thrown);
			throw losesConnection(error)
				? faultOf(error, name)
				: new Error(`PostgreSQL at ${name} refused the connection: ${error.message}.`, {
						cause: error,
					});
		});
		const database: Setup = {
			name,
			async ask<Row extends object>(text: string, values?: readonly (string | number)[]) {
				try {
					return (await client.query<Row>(text, values && [...values])).rows;
				} catch (error) {
					throw faultOf(fromDriver(error), name);
				}
			},
		};
		await database.ask(
			`SELECT set_config('synchronous_commit', 'on', false),
				set_config('statement_timeout', '0', false), set_config('lock_timeout', '${LOCK_MS}', false)`,
		);
		return await work(database);
	} finally {
		await client.end().catch(() => {});
	}
}

/** Checks the database. Throws an Error for the operator if it cannot hold a store. */
export async function usable({ name, ask }: Setup): Promise<Facts> {
	const [facts] = (await ask<Facts>(FACTS)) as [Facts];
	if (facts.number < VERSION_NEEDED)
		throw new Error(
			`PostgreSQL at ${name} is version ${facts.version}; Sluice needs ${VERSION_NEEDED / 10_000} or newer.`,
		);
	if (facts.standby)
		throw new Error(`PostgreSQL at ${name} is a standby, which is read-only. Use the address of its primary.`);
	if (facts.encoding !== "UTF8")
		throw new Error(
			`The database at ${name} has the encoding ${facts.encoding}, and payloads need UTF8. ` +
				"Create another: CREATE DATABASE sluice ENCODING 'UTF8' TEMPLATE template0.",
		);
	if (facts.schema === null)
		throw new Error(
			`No schema of the search path of ${facts.role} exists at ${name}. Create one, or correct the search path.`,
		);
	return facts;
}

/** Makes a client. Throws if the address names something missing, such as a file with certificates. */
function made(config: ClientConfig, name: string): Client {
	try {
		return new Client(config);
	} catch (error) {
		throw new Error(`The address of PostgreSQL at ${name} cannot be used: ${(error as Error).message}.`, {
			cause: error,
		});
	}
}
