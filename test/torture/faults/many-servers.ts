/**
 * Faults of servers that share a PostgreSQL, beside kills: partitions between a server and the
 * database, processes that are stopped and continued, clocks that are set, and an upgrade.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import type { PostgresServer } from "../../support/postgres-server.ts";
import { tcpProxy, type TcpProxy } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";
import { PARTITION } from "../history.ts";
import type { Server } from "../site.ts";
import { clocks } from "./clocks.ts";

/** Breaks something; resolves with what it was when it is whole again. */
export type Fault = (random: () => number) => Promise<string>;

export interface ManyServers {
	kills?: boolean;
	/** Between a server and the database, in one direction or both. */
	partitions?: boolean;
	/** Of a server, or of a session of the database. */
	stops?: boolean;
	/** Clocks of servers and of the database are wrong, run too fast and are set. */
	skew?: boolean;
	/** `bin/sluice.js` of the version that the servers are upgraded from, one after the other. */
	previous?: string | undefined;
	/** How long a partition or a stop lasts, ms, at least and at most. */
	partitionMs?: readonly [number, number];
	stopMs?: readonly [number, number];
}

const PARTITION_MS = [2000, 40_000] as const;
const STOP_MS = [1000, 60_000] as const;

/** How long servers of both versions run, ms. */
const MIXED_MS = [3000, 10_000] as const;

/** Part of the partitions that separate all servers from the database. */
const OF_ALL = 0.2;

/** Part of the stops that stop a session of the database. */
const OF_SESSION = 0.4;

/** What the faults act on. */
interface Target {
	servers: readonly Server[];
	primary: () => PostgresServer;
	database: string;
}

export interface ManyServerFaults {
	/** Variables of the environment of the database, and of a server. */
	databaseEnv: NodeJS.ProcessEnv;
	serverEnv(server: number): NodeJS.ProcessEnv | undefined;
	/** The address by which each server reaches the database of this address. */
	connect(url: string): Promise<string[]>;
	faults(target: Target): Fault[];
	end(): void;
}

export function manyServerFaults(q: ManyServers, count: number): ManyServerFaults {
	const clock = q.skew ? clocks(count) : undefined;
	const proxies: TcpProxy[] = [];
	return {
		databaseEnv: clock?.database ?? {},
		serverEnv: (server) => clock?.servers[server],
		async connect(url) {
			const all = Array.from({ length: count }, () => url);
			if (!q.partitions) return all;
			for (let n = 0; n < count; n += 1) proxies.push(await tcpProxy(Number(new URL(url).port)));
			return proxies.map((each) => each.through(url));
		},
		faults: (target) => [
			...(q.partitions ? [partition(proxies, q.partitionMs ?? PARTITION_MS)] : []),
			...(q.stops ? [stop(target, q.stopMs ?? STOP_MS)] : []),
			...(clock ? [clock.set] : []),
			...(q.previous === undefined ? [] : [upgrade(target.servers)]),
		],
		end: () => proxies.forEach((each) => each.close()),
	};
}

const between = (random: () => number, [least, most]: readonly [number, number]): number =>
	least + random() * (most - least);

/** What is sent is held and arrives afterwards, as by TCP, also on connections that were given up. */
function partition(proxies: readonly TcpProxy[], range: readonly [number, number]): Fault {
	return async (random) => {
		const cut = random() < OF_ALL ? proxies : [proxies[Math.floor(random() * proxies.length)]!];
		const sides = [undefined, "server", "client"] as const;
		const towards = sides[Math.floor(random() * sides.length)];
		for (const each of cut) each.silent(towards);
		await sleep(between(random, range));
		for (const each of cut) await each.pass();
		const directions = { server: "to the database", client: "from the database" };
		return `${PARTITION} ${towards ? directions[towards] : "in both directions"}`;
	};
}

function stop(at: Target, range: readonly [number, number]): Fault {
	return async (random) => {
		const ms = between(random, range);
		if (random() >= OF_SESSION) {
			await at.servers[Math.floor(random() * at.servers.length)]!.suspend(ms);
			return "SIGSTOP of a server";
		}
		const pid = await sessionOf(at.primary(), at.database);
		process.kill(pid, "SIGSTOP");
		await sleep(ms);
		process.kill(pid, "SIGCONT");
		return "SIGSTOP of a session";
	};
}

/** All servers one after the other, with both versions at work in between; then only kills. */
function upgrade(servers: readonly Server[]): Fault {
	let old = [...servers];
	return async (random) => {
		if (old.length === 0) {
			await servers[Math.floor(random() * servers.length)]!.kill(random);
			return "kill -9 of an upgraded server";
		}
		for (const each of old) {
			await each.upgrade();
			await sleep(between(random, MIXED_MS));
		}
		old = [];
		return "upgrade of all servers";
	};
}

/** A process of PostgreSQL that serves the database, if possible one in a transaction. */
export async function sessionOf(postgres: PostgresServer, database: string): Promise<number> {
	return await until("a session of the database", async () => {
		const client = new Client({ connectionString: postgres.adminUrl("postgres") });
		client.on("error", () => {});
		await client.connect();
		try {
			const { rows } = await client.query<{ pid: number }>(
				"SELECT pid FROM pg_stat_activity WHERE datname = $1 " + "ORDER BY xact_start IS NULL, random() LIMIT 1",
				[database],
			);
			return rows[0]?.pid;
		} finally {
			await client.end().catch(() => {});
		}
	});
}
