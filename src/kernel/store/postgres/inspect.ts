import { addressOf } from "./connection/database.ts";
import { pendingMigrations } from "./schema.ts";
import { connected, usable } from "./connection/setup.ts";
import { STANDBYS, type Standbys } from "./queries/cluster.ts";

export interface Inspection {
	name: string;
	version: string;
	pending: string[];
	/** Settings of new connections. */
	settings: { fsync: string; fullPageWrites: string; synchronousCommit: string };
	standbys: Standbys;
}

const SETTINGS = `
  SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS "fullPageWrites",
    (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit') AS "synchronousCommit"`;

/**
 * Inspects a database. Throws `StoreUnavailable` (`unreachable`) without a connection, an Error for the operator if the
 * database cannot be a store of this version.
 */
export async function inspect(url: string): Promise<Inspection> {
	const pending = (await pendingMigrations({ url })).map(({ name }) => name);
	return await connected(url, async (database) => {
		const { version } = await usable(database);
		const [settings] = (await database.ask<Inspection["settings"]>(SETTINGS)) as [Inspection["settings"]];
		const [standbys] = (await database.ask<Standbys>(STANDBYS)) as [Standbys];
		return {
			name: addressOf(url).name,
			version,
			pending,
			settings,
			standbys,
		};
	});
}
