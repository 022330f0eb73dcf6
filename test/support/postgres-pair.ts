/**
 * A PostgreSQL with a synchronous standby, and an address that moves with the primary: what a
 * manager such as Patroni keeps, done by hand.
 */
import { Client } from "pg";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";
import { tcpProxy, type TcpProxy } from "./tcp-proxy.ts";
import { until } from "./until.ts";

/** Longest time until a new standby has caught up under load, ms. */
const CATCH_UP_MS = 60_000;

export interface PostgresPair {
	/** That of now: it changes with each failover. */
	primary(): PostgresServer;
	/** The address of a database, which leads to the primary of now. */
	url(database: string): string;
	/**
	 * Promotes the standby. Before that, all processes of the primary are killed, or no client reaches
	 * it any more and it is killed afterwards. Resolves when clients reach the new primary, which has
	 * no standby then.
	 */
	failover(how: "killed" | "isolated"): Promise<void>;
	/** Adds a standby to the primary. Resolves when each commit waits for it. */
	addStandby(): Promise<void>;
	remove(): Promise<void>;
}

/** `settings` are PostgreSQL's. */
export async function postgresPair(settings: Record<string, string> = {}): Promise<PostgresPair> {
	const servers: PostgresServer[] = [await startPostgres({ settings })];
	let proxy: TcpProxy | undefined;
	const [first] = servers as [PostgresServer];

	const primary = (): PostgresServer => servers[0]!;

	async function addStandby(): Promise<void> {
		servers.push(await startPostgres({ standbyOf: primary() }));
		await makeSynchronous(primary());
	}

	async function remove(): Promise<void> {
		proxy?.close();
		for (const each of servers.splice(0).toReversed()) await each.remove();
	}

	try {
		await addStandby();
		proxy = await tcpProxy(first.port);
	} catch (error) {
		await remove();
		throw error;
	}
	const forwarder = proxy;
	return {
		primary,
		url: (database) => forwarder.through(first.url(database)),
		async failover(how) {
			const [old, standby] = servers as [PostgresServer, PostgresServer];
			forwarder.refuse();
			if (how === "killed") await old.crash();
			await query(standby, "SELECT pg_promote()");
			forwarder.lead(standby.port);
			forwarder.cut();
			await forwarder.pass();
			servers.shift();
			await old.remove();
		},
		addStandby,
		remove,
	};
}

/** Resolves when all that was committed is on the standby, and no commit ends before it is there. */
async function makeSynchronous(primary: PostgresServer): Promise<void> {
	await query(primary, "ALTER SYSTEM SET synchronous_standby_names = 'standby'");
	await query(primary, "SELECT pg_reload_conf()");
	const sql = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
	await until("a synchronous standby", async () => (await query(primary, sql)).length > 0, CATCH_UP_MS);
	// Commits that were answered before are there once a later one is.
	await query(primary, "SELECT pg_logical_emit_message(true, 'caught up', '')");
}

/** Runs a statement as the superuser. */
export async function query<Row extends object>(server: PostgresServer, text: string): Promise<Row[]> {
	const client = new Client({ connectionString: server.adminUrl("postgres") });
	client.on("error", () => {});
	await client.connect();
	try {
		return (await client.query<Row>(text)).rows;
	} finally {
		await client.end().catch(() => {});
	}
}
