/**
 * A look at a PostgreSQL database for the operator: whether a store can be or is there, and how
 * good a place it is. Changes nothing.
 */
import { addressOf } from "./connection/database.ts";
import { pendingMigrations } from "./schema.ts";
import { connected, usable } from "./connection/setup.ts";

/** What is seen. Times are ms. */
export interface Inspection {
	/** How the database is called, without secrets. */
	name: string;
	/** Version of the server. */
	version: string;
	/** Names of migrations that are missing. */
	pending: string[];
	/**
	 * By how much its clock is ahead of ours, and half of the round trip: it is no more exact than
	 * that.
	 */
	ahead: { ms: number; exactMs: number };
	/** Settings that keep what is acknowledged, as they are for new connections. */
	settings: { fsync: string; fullPageWrites: string; synchronousCommit: string };
	/** How long a commit takes that is flushed: the median of some. */
	commitMs: number;
}

const COMMITS = 9;

const SETTINGS = `
  SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS "fullPageWrites",
    (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit') AS "synchronousCommit"`;

/**
 * Looks at the database. Throws `StoreUnavailable` (`unreachable`) while there is no connection,
 * and an Error with a sentence where no store of this version can be.
 */
export async function inspect({
	url,
	now,
}: {
	url: string;
	now: () => number;
}): Promise<Inspection> {
	const pending = (await pendingMigrations({ url })).map(({ name }) => name);
	return await connected(url, async (database) => {
		const { version } = await usable(database);
		const [settings] = (await database.ask<Inspection["settings"]>(SETTINGS)) as [
			Inspection["settings"],
		];
		const took: number[] = [];
		for (let commit = 0; commit < COMMITS; commit += 1) {
			const before = performance.now();
			// A note in the log that nobody reads: it is written and flushed as a commit is, and leaves
			// no row.
			await database.ask("SELECT pg_logical_emit_message(true, 'sluice', '')");
			took.push(performance.now() - before);
		}
		const asked = now();
		const [clock] = (await database.ask<{ ms: string }>(
			"SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms",
		)) as [{ ms: string }];
		const exactMs = (now() - asked) / 2;
		return {
			name: addressOf(url).name,
			version,
			pending,
			settings,
			ahead: { ms: Math.round(Number(clock.ms) - asked - exactMs), exactMs },
			commitMs: took.toSorted((a, b) => a - b)[(COMMITS - 1) / 2] ?? 0,
		};
	});
}
