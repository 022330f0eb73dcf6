/** What a campaign breaks: servers as processes that launch the workers of one endpoint, and their store. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../../support/free-port.ts";
import type { PostgresDatabases } from "../../support/postgres-databases.ts";
import { call, folder, type Folder, type ServiceProcess, spawnService } from "../../support/service.ts";
import { until } from "../../support/until.ts";
import { ENDPOINT } from "./requests.ts";

const WORKER = [process.execPath, fileURLToPath(new URL("worker.ts", import.meta.url))];

/** Longest time until another server has the role of one that was killed, ms. */
const TAKEN_MS = 60_000;

export interface CampaignSite {
	/** Servers that run; one that is killed is none. */
	urls(): string[];
	/**
	 * Ends the server that runs batches by SIGKILL, and starts it again when another one runs them, if there are others.
	 * Resolves with the ms until they could run again.
	 */
	killServer(): Promise<number>;
	/** Ends a worker by SIGKILL. Undefined: none runs. */
	killWorker(random: () => number): number | undefined;
	/** Numbers of the requests that were run, one for each run. */
	runs(): number[];
	/** Requests from this number on do not end until it is another one. */
	hold(from: number): void;
	/** What servers wrote to stderr. */
	log(): string;
	end(): Promise<void>;
}

export interface SiteOptions {
	/** In these, with PostgreSQL. */
	databases?: PostgresDatabases | undefined;
	servers?: number;
	workers: number;
	/** Of the workers. */
	env: Record<string, string>;
	/** Where the store is, with SQLite; else in a folder of its own. */
	file?: string;
}

interface Server {
	place: Folder;
	port: number;
	process: ServiceProcess;
	isUp: boolean;
}

export async function campaignSite(q: SiteOptions): Promise<CampaignSite> {
	const own = folder();
	const diary = join(own.path, "diary");
	const database = await q.databases?.createDatabase();
	const endpoints = {
		[ENDPOINT]: {
			launcher: { type: "process", command: WORKER },
			...{ workersMin: q.workers, workersMax: q.workers, leaseMs: 5000, limits: "off" },
			env: { DIARY: diary, ...q.env },
		},
	};
	let said = "";

	async function launch({ place, port }: Pick<Server, "place" | "port">): Promise<ServiceProcess> {
		const store = database
			? ["--store", database.url, "--data-dir", join(place.path, "data")]
			: ["--store", `sqlite:${q.file ?? join(place.path, "sluice.db")}`];
		return await spawnService({
			...{ in: place, endpoints, port },
			args: ["--drain-timeout", "0", ...store],
			env: { SLUICE_SECRET: "one secret for all", SLUICE_LOG_LEVEL: "warn" },
		});
	}

	const servers: Server[] = [];
	for (let n = 0; n < (q.servers ?? 1); n += 1) {
		const place = { place: folder(), port: await freePort() };
		servers.push({ ...place, process: await launch(place), isUp: true });
	}

	function notes(): { pid: number; n?: number }[] {
		if (!existsSync(diary)) return [];
		// A worker may have died in the middle of a line.
		const lines = readFileSync(diary, "utf8").split("\n");
		return lines.filter((line) => line.endsWith("}")).map((line) => JSON.parse(line) as { pid: number; n?: number });
	}

	const living = (): number[] => [...new Set(notes().map(({ pid }) => pid))].filter((pid) => isWorker(pid, diary));

	/** With one server it is that one. */
	async function leaderOf(some: readonly Server[]): Promise<Server | undefined> {
		if (!database) return some[0];
		for (const each of some) {
			const { json } = await call(each.process.url, "/v1/servers");
			const self = (json.servers as { self: boolean; leads: string[] }[]).find((row) => row.self);
			if (self?.leads.includes("sweep")) return each;
		}
		return undefined;
	}

	const leads = (some: readonly Server[]): Promise<Server> =>
		until("a server to run batches", () => leaderOf(some), TAKEN_MS);

	/** On every way out. */
	const killAll = (): void => {
		for (const each of servers) each.process.child.kill("SIGKILL");
		for (const pid of living()) process.kill(pid, "SIGKILL");
	};
	process.once("exit", killAll);

	return {
		urls: () => servers.filter(({ isUp }) => isUp).map((each) => each.process.url),
		async killServer() {
			const victim = await leads(servers);
			const others = servers.filter((each) => each !== victim);
			victim.isUp = false;
			const began = performance.now();
			await victim.process.end("SIGKILL");
			said += victim.process.stderr();
			if (others.length > 0) await leads(others);
			const taken = performance.now() - began;
			victim.process = await launch(victim);
			victim.isUp = true;
			return others.length > 0 ? taken : performance.now() - began;
		},
		killWorker(random) {
			const pids = living();
			const pid = pids[Math.floor(random() * pids.length)];
			if (pid !== undefined) process.kill(pid, "SIGKILL");
			return pid;
		},
		runs: () => notes().flatMap(({ n }) => (n === undefined ? [] : [n])),
		hold: (from) => writeFileSync(`${diary}.held`, String(from)),
		log: () => said + servers.map((each) => each.process.stderr()).join(""),
		async end() {
			for (const each of servers) if (each.isUp) await each.process.end();
			killAll();
			process.off("exit", killAll);
			for (const { place } of servers) place.remove();
			await database?.drop();
			own.remove();
		},
	};
}

/** Whether the process is alive, and a worker that has this diary: another process may have got its number. */
function isWorker(pid: number, diary: string): boolean {
	try {
		if (/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))) return false;
		return readFileSync(`/proc/${pid}/environ`, "utf8").includes(diary);
	} catch {
		return false;
	}
}
