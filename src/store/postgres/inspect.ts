/** Read-only check of a PostgreSQL database for the operator: version, durability, clock, speed. */
import { addressOf } from "./connection/database.ts";
import { pendingMigrations } from "./schema.ts";
import { connected, usable } from "./connection/setup.ts";

/** Times are ms. */
export interface Inspection {
	/** The database, without secrets. */
	name: string;
	/** Server version. */
	version: string;
	/** Names of missing migrations. */
	pending: string[];
	/** How far its clock is ahead, accurate to half the round trip. */
	ahead: { ms: number; exactMs: number };
	/** Durability settings of new connections. */
	settings: { fsync: string; fullPageWrites: string; synchronousCommit: string };
	/** Median duration of a flushed commit. */
	commitMs: number;
}

const COMMITS = 9;

const SETTINGS = `
  SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS "fullPageWrites",
    (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit') AS "synchronousCommit"`;

/**
 * Throws `StoreUnavailable` (`unreachable`) without a connection, an Error for the operator when
 * the database cannot be a store of this version.
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
			// A WAL record without effect: flushed like a commit, leaves no row.
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
