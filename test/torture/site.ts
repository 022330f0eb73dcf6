/** What is tortured: servers as processes of their own with their store, and how they are broken. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "../support/free-port.ts";
import { postgresPair, type PostgresPair } from "../support/postgres-pair.ts";
import { type PostgresServer, startPostgres } from "../support/postgres-server.ts";
import { KEY, folder } from "../support/service.ts";
import { until } from "../support/until.ts";
import { manyServerFaults, type ManyServers, sessionOf } from "./faults/many-servers.ts";

/** They end with this process at the latest. */
const children = new Set<ChildProcess>();
process.on("exit", () => {
	for (const child of children) child.kill("SIGKILL");
});

/** Where a site keeps its data. */
export type SiteStore = { kind: "sqlite"; file: string } | { kind: "postgres"; adminUrl: string; dataDir: string };

export interface Site {
	urls(): readonly string[];
	/**
	 * Breaks something, with `sparesServers` only the store; resolves with what it was when all works
	 * again. Undefined: nothing was broken.
	 */
	fault?(random: () => number, sparesServers?: boolean): Promise<string | undefined>;
	end(): Promise<void>;
}

/** A site whose processes and files can be measured. */
export interface MeasuredSite extends Site {
	readonly store: SiteStore;
	/** Processes of the servers. */
	pids(): readonly number[];
}

/** Settings by endpoint id, as in `sluice.yaml`. */
export type Endpoints = Record<string, object>;

/** Further members of the configuration file. */
export const SETTINGS = {
	webhooks: { allowPrivateNetworks: true },
	budgets: { reservedDisk: 0 },
};

/** Part of the starts that are killed, and how long after their beginning at most, ms. */
const [KILLED_STARTS, START_MS] = [0.15, 900];

/** Part of the failovers in which the primary lives on, out of reach. */
const ISOLATED = 0.25;

/** Longest time until all serve again, ms. */
const READY_MS = 60_000;

const PROGRAM = fileURLToPath(new URL("../../bin/sluice.js", import.meta.url));

/** One server that is killed and started again at its port. */
export interface Server {
	readonly url: string;
	readonly folder: string;
	readonly pid: number;
	/** SIGKILL, now and then again while it starts. */
	kill(random: () => number): Promise<void>;
	/** SIGSTOP, and SIGCONT after so many ms. */
	suspend(ms: number): Promise<void>;
	/** SIGTERM; then this version (`bin/sluice.js`) starts in its place. */
	upgrade(): Promise<void>;
	end(): Promise<void>;
}

async function server(q: {
	endpoints: Endpoints;
	/** Options of the store, given the folder of the server. */
	store: (folder: string) => string[];
	/** Further variables of its environment. */
	env?: NodeJS.ProcessEnv | undefined;
	/** `bin/sluice.js` of the version that it starts with. */
	program?: string | undefined;
}): Promise<Server> {
	const place = folder();
	const port = await freePort();
	const config = join(place.path, "sluice.yaml");
	writeFileSync(config, JSON.stringify({ ...SETTINGS, endpoints: q.endpoints }));
	const options = ["--config", config, "--port", String(port), "--drain-timeout", "0"];
	const args = ["serve", ...options, ...q.store(place.path)];
	let program = q.program ?? PROGRAM;

	function launch() {
		const child = spawn(process.execPath, [program, ...args], {
			cwd: place.path,
			env: {
				...process.env,
				SLUICE_API_KEY: KEY,
				SLUICE_SECRET: "one secret for all",
				SLUICE_LOG_LEVEL: "error",
				SLUICE_LOG_FORMAT: "text",
				...q.env,
			},
			stdio: ["ignore", "pipe", "inherit"],
		});
		children.add(child);
		const exited = once(child, "exit").then(() => children.delete(child));
		const listens = new Promise<boolean>((resolve) => {
			createInterface({ input: child.stdout! }).on("line", (line) => {
				if (/https?:\/\//.test(line)) resolve(true);
			});
			void exited.then(() => resolve(false));
		});
		return { child, exited, listens };
	}

	let running = launch();
	if (!(await running.listens)) throw new Error("the service did not start");

	async function end(signal: NodeJS.Signals): Promise<void> {
		running.child.kill(signal);
		await running.exited;
	}

	async function startAgain(after: string): Promise<void> {
		running = launch();
		if (!(await running.listens)) throw new Error(`the service did not start after ${after}`);
	}

	return {
		url: `http://127.0.0.1:${port}`,
		folder: place.path,
		get pid() {
			return running.child.pid!;
		},
		async kill(random) {
			await end("SIGKILL");
			while (random() < KILLED_STARTS) {
				running = launch();
				await Promise.race([running.exited, sleep(random() * START_MS)]);
				await end("SIGKILL");
			}
			await startAgain("a kill");
		},
		async suspend(ms) {
			running.child.kill("SIGSTOP");
			await sleep(ms);
			running.child.kill("SIGCONT");
		},
		async upgrade() {
			await end("SIGTERM");
			program = PROGRAM;
			await startAgain("an upgrade");
		},
		async end() {
			await end("SIGINT");
			place.remove();
		},
	};
}

/** One server with a SQLite file. */
export async function sqliteSite(endpoints: Endpoints): Promise<MeasuredSite> {
	const one = await server({
		endpoints,
		store: (path) => ["--store", `sqlite:${join(path, "sluice.db")}`],
	});
	return {
		store: { kind: "sqlite", file: join(one.folder, "sluice.db") },
		urls: () => [one.url],
		pids: () => [one.pid],
		async fault(random, sparesServers = false) {
			if (sparesServers) return undefined;
			await one.kill(random);
			return "kill -9 of the server";
		},
		end: () => one.end(),
	};
}

/**
 * Several servers with one PostgreSQL. With `failovers`, the part of the faults that are such, it
 * has a synchronous standby, and a new one after each. `settings` are PostgreSQL's.
 */
export async function postgresSite(
	endpoints: Endpoints,
	count: number,
	{
		settings = {},
		failovers = 0,
		...more
	}: { settings?: Record<string, string>; failovers?: number } & ManyServers = {},
): Promise<MeasuredSite> {
	const pair = failovers > 0 ? await postgresPair(settings) : undefined;
	const many = manyServerFaults(more, count);
	const alone = pair ? undefined : await startPostgres({ settings, env: many.databaseEnv });
	const primary = (): PostgresServer => pair?.primary() ?? alone!;
	const { name, url: direct } = await primary().createDatabase();
	const url = pair?.url(name) ?? direct;
	const through = await many.connect(url);
	const servers: Server[] = [];
	for (let n = 0; n < count; n += 1)
		servers.push(
			await server({
				endpoints,
				store: (path) => ["--store", through[n]!, "--data-dir", join(path, "data")],
				env: many.serverEnv(n),
				program: more.previous,
			}),
		);

	async function failOver(now: PostgresPair, how: "killed" | "isolated"): Promise<string> {
		await now.failover(how);
		await serving(servers);
		await now.addStandby();
		return `failover, primary ${how}`;
	}

	async function kill(random: () => number, sparesServers: boolean): Promise<string> {
		if (pair && random() < failovers) return await failOver(pair, random() < ISOLATED ? "isolated" : "killed");
		const chance = sparesServers ? 0.4 + random() * 0.6 : random();
		if (chance < 0.4) {
			await servers[Math.floor(random() * count)]!.kill(random);
			return "kill -9 of a server";
		}
		if (chance < 0.7) return await killBackend(primary(), name);
		if (chance < 0.9) await primary().crash();
		else await primary().kill();
		await primary().start();
		return chance < 0.9 ? "kill -9 of PostgreSQL" : "kill -9 of the postmaster";
	}
	const all: ((random: () => number, sparesServers: boolean) => Promise<string>)[] = [
		...(more.kills === false ? [] : [kill]),
		...many.faults({ servers, primary, database: name }),
	];
	let turn = -1;

	return {
		get store(): SiteStore {
			const { adminUrl, dataDir } = primary();
			return { kind: "postgres", adminUrl: adminUrl(name), dataDir };
		},
		urls: () => servers.map((each) => each.url),
		pids: () => servers.map(({ pid }) => pid),
		async fault(random, sparesServers = false) {
			// By turns, so that a short run has all kinds.
			const what = await all[(turn += 1) % all.length]!(random, sparesServers);
			await serving(servers);
			return what;
		},
		async end() {
			for (const each of servers) await each.end();
			many.end();
			await (pair ?? primary()).remove();
		},
	};
}

/** Kills a process of PostgreSQL: all others end, and it recovers. */
async function killBackend(postgres: PostgresServer, name: string): Promise<string> {
	process.kill(await sessionOf(postgres, name), "SIGKILL");
	return "kill -9 of a session";
}

/** Resolves when all of them serve. */
async function serving(servers: readonly Server[]): Promise<void> {
	for (const { url } of servers)
		await until(`${url} to be ready`, async () => (await fetch(`${url}/readyz`)).ok, READY_MS);
}
