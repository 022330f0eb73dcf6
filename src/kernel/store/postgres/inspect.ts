import type { Clock } from "../../system/clock.ts";
import { addressOf } from "./connection/database.ts";
import { pendingMigrations } from "./schema.ts";
import { connected, type Setup, usable } from "./connection/setup.ts";
import { STANDBYS, type Standbys } from "./queries/standbys.ts";

/** Times are ms. */
export interface Inspection {
	name: string;
	version: string;
	pending: string[];
	/** How far its clock is ahead, accurate to half the round trip. */
	ahead: { ms: number; exactMs: number };
	/** Settings of new connections. */
	settings: { fsync: string; fullPageWrites: string; synchronousCommit: string };
	standbys: Standbys;
	/** Median duration of a flushed commit; undefined: not confirmed for seconds. */
	commitMs: number | undefined;
}

const COMMITS = 9;
/** Maximum wait for a commit, ms: without its synchronous standby it has no end. */
const COMMIT_MS = 5000;

const SETTINGS = `
  SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS "fullPageWrites",
    (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit') AS "synchronousCommit"`;

/**
 * Throws `StoreUnavailable` (`unreachable`) without a connection, an Error for the operator when the database cannot be
 * a store of this version.
 */
export async function inspect({ url, clock }: { url: string; clock: Clock }): Promise<Inspection> {
	const pending = (await pendingMigrations({ url })).map(({ name }) => name);
	return await connected(url, async (database) => {
		const { version } = await usable(database);
		const [settings] = (await database.ask<Inspection["settings"]>(SETTINGS)) as [Inspection["settings"]];
		const [standbys] = (await database.ask<Standbys>(STANDBYS)) as [Standbys];
		const asked = clock.now();
		const [there] = (await database.ask<{ ms: string }>(
			"SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms",
		)) as [{ ms: string }];
		const exactMs = (clock.now() - asked) / 2;
		return {
			name: addressOf(url).name,
			version,
			pending,
			settings,
			standbys,
			ahead: { ms: Math.round(Number(there.ms) - asked - exactMs), exactMs },
			// Last, since a wait for a standby occupies the connection.
			commitMs: await timeOfCommit(database, clock),
		};
	});
}

async function timeOfCommit({ ask }: Setup, clock: Clock): Promise<number | undefined> {
	const took: number[] = [];
	const done = new AbortController();
	const late = clock.sleep(COMMIT_MS, done.signal);
	for (let commit = 0; commit < COMMITS; commit += 1) {
		const before = performance.now();
		// A WAL record without effect: flushed like a commit, leaves no row.
		const committed = ask("SELECT pg_logical_emit_message(true, 'sluice', '')").then(() => true);
		committed.catch(() => {});
		if (!(await Promise.race([committed, late]))) return undefined;
		took.push(performance.now() - before);
	}
	done.abort();
	return took.toSorted((a, b) => a - b)[(COMMITS - 1) / 2];
}
