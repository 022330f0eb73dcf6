/**
 * PostgreSQL with a standby: what an asynchronous one loses when it is promoted, and what
 * `sluice doctor` says of standbys (D17, D36).
 */
import { beforeEach, expect, it, onTestFinished } from "vitest";
import { postgresFindings } from "../../src/cli/doctor/postgres.ts";
import { query } from "../support/postgres-pair.ts";
import { type PostgresServer, startPostgres } from "../support/postgres-server.ts";
import { until } from "../support/until.ts";
import { opened } from "./postgres-proxied.ts";
import { siteOf, T0 } from "./site.ts";

let primary: PostgresServer;
let standby: PostgresServer;
let name: string;

beforeEach(async () => {
	primary = await startPostgres();
	onTestFinished(() => primary.remove());
	({ name } = await primary.createDatabase());
	standby = await startPostgres({ standbyOf: primary });
	onTestFinished(() => standby.remove());
});

/** Resolves once that many standbys follow the primary. */
async function follow(count: number): Promise<void> {
	const sql = "SELECT pid FROM pg_stat_replication WHERE state = 'streaming'";
	await until("the standby", async () => (await query(primary, sql)).length === count);
}

async function set(server: PostgresServer, setting: string, value: string): Promise<void> {
	await query(server, `ALTER SYSTEM SET ${setting} = '${value}'`);
	await query(server, "SELECT pg_reload_conf()");
}

async function finding(check: string, url = primary.url(name)): Promise<string | undefined> {
	const all = await postgresFindings(url);
	const found = all.find((each) => each.check === check);
	return found && [found.level, found.message, found.fix].filter(Boolean).join(" | ");
}

it("D17: an asynchronous standby that is behind lacks acknowledged jobs when it is promoted", async () => {
	const store = await opened(primary.url(name));
	await follow(1);
	const site = siteOf(store);
	const early = await site.add();
	const position = "SELECT pg_current_wal_flush_lsn()::text AS lsn";
	const [{ lsn }] = (await query<{ lsn: string }>(primary, position)) as [{ lsn: string }];
	const replayed = `SELECT 1 WHERE pg_last_wal_replay_lsn() >= '${lsn}'`;
	await until("the job there", async () => (await query(standby, replayed)).length > 0);
	await set(standby, "primary_conninfo", "");
	await follow(0);
	const late = await site.add();
	await primary.crash();
	await query(standby, "SELECT pg_promote()");
	const { jobs } = await opened(standby.url(name));
	const found = ({ id }: { id: string }) => jobs.get({ endpoint: site.endpoint, id, now: T0 });
	expect(await found(early)).toMatchObject({ job: { id: early.id } });
	expect(await found(late)).toBeUndefined();
});

it("D36: doctor warns of a standby that no commit waits for, and of one that is missing", async () => {
	await follow(1);
	const { cluster } = await opened(primary.url(name));
	expect(await cluster!.standbys()).toEqual({ connected: 1, isSynchronous: false });
	expect(await finding("standby")).toMatch(
		/^warning \| No standby is synchronous \(1 connected\): .* \| ALTER SYSTEM SET synchronous_/,
	);
	await set(primary, "synchronous_standby_names", "ANY 1 (standby)");
	const names = "Commits wait for standbys \\(synchronous_standby_names = ANY 1 \\(standby\\)\\)";
	const state = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'quorum'";
	await until("a synchronous one", async () => (await query(primary, state)).length > 0);
	expect(await finding("standby")).toMatch(new RegExp(`^ok \\| ${names}; connected: 1\\.$`));
	expect(await finding("standby", primary.adminUrl(name))).toMatch(/connected: 1, synchronous: 1\.$/);
	expect(await cluster!.standbys()).toEqual({ connected: 1, isSynchronous: true });
	await standby.stop();
	expect(await finding("standby")).toBe(
		"problem | Every commit waits for a standby (synchronous_standby_names = ANY 1 (standby)), and none is " +
			"connected. | Connect one that synchronous_standby_names contains, or remove its name there.",
	);
});
