/**
 * Several servers in this process on one PostgreSQL, each with a folder of its own, and a clock of
 * its own where the test says so.
 */
import { MODULES } from "../../src/modules/index.ts";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Clock, systemClock } from "../../src/kernel/system/clock.ts";
import { type App, startApp } from "../../src/kernel/compose.ts";
import { loadConfig } from "../../src/kernel/config/config.ts";
import { eventBus, type EventName, type Events } from "../../src/kernel/events.ts";
import type { PostgresDatabases } from "./postgres-databases.ts";
import { postgres } from "./postgres.ts";
import { folder, type Folder, KEY, nextEvent, type ServiceProcess, spawnService } from "./service.ts";

/** `SLUICE_SECRET` of all servers. */
const SECRET = "one secret for all";

/** A server of the group. */
export interface TestServer extends App {
	/** Resolves at the next such event that fits. Ask before what causes it. */
	next<N extends EventName>(name: N, fits?: (facts: Events[N]) => boolean): Promise<Events[N]>;
}

/** Servers that share a database. */
export interface Servers {
	/** Address of the database. */
	readonly store: string;
	/**
	 * Starts one more. `endpoints` are settings by id, as in `sluice.yaml`; launcher `external` by
	 * default. `by`: another way to the same database.
	 */
	start(q?: {
		endpoints?: Record<string, object>;
		clock?: Clock;
		drainSeconds?: number;
		by?: (store: string) => string;
		env?: Record<string, string>;
		/** Further members of the configuration file. */
		config?: object;
	}): Promise<TestServer>;
	/**
	 * Starts one as a process of its own, from the built package. In the folder of an earlier one,
	 * whose identity it then has.
	 */
	spawn(q?: {
		endpoints?: Record<string, object>;
		in?: Folder;
		port?: number;
		drainSeconds?: number;
		env?: Record<string, string>;
		/** Further members of the configuration file. */
		file?: object;
		/** Folder of another built package. */
		package?: string;
	}): Promise<ServiceProcess & { folder: Folder }>;
	/** Stops those that run and removes their folders. */
	end(): Promise<void>;
}

/**
 * A database of their own, on the PostgreSQL of the run unless another one is named; no server yet.
 */
export async function servers(on?: PostgresDatabases): Promise<Servers> {
	const { url: store, drop } = await (on ?? (await postgres())).createDatabase();
	const running = new Set<{ app: App; place: Folder }>();
	const processes = new Set<ServiceProcess & { folder: Folder }>();

	async function stop(each: { app: App; place: Folder }): Promise<void> {
		if (!running.delete(each)) return;
		await each.app.stop();
		each.place.remove();
	}

	return {
		store,
		async start({
			endpoints = {},
			clock = systemClock,
			drainSeconds = 0,
			by = (address: string) => address,
			env = {},
			config = {},
		} = {}) {
			const place = folder();
			const path = join(place.path, "sluice.yaml");
			const file = JSON.stringify({ endpoints, ...config });
			writeFileSync(path, file);
			const loaded = loadConfig({
				modules: MODULES,
				flags: {
					config: path,
					port: "0",
					store: by(store),
					"data-dir": join(place.path, "data"),
					"drain-timeout": String(drainSeconds),
				},
				env: { SLUICE_API_KEY: KEY, SLUICE_SECRET: SECRET, ...env },
				cwd: place.path,
				readFile: () => file,
			});
			if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
			const events = eventBus();
			const app = await startApp(loaded.config, { modules: MODULES, clock, events, env: process.env });
			const each = { app, place };
			running.add(each);
			return {
				...app,
				next: (name, fits) => nextEvent(events, name, fits),
				stop: () => stop(each),
			};
		},
		async spawn({ in: place = folder(), drainSeconds = 0, ...q } = {}) {
			const { endpoints = {}, port = 0, env = {}, file = {} } = q;
			const service = await spawnService({
				...(q.package !== undefined && { package: q.package }),
				in: place,
				endpoints,
				port,
				file,
				env: { SLUICE_SECRET: SECRET, ...env },
				args: ["--store", store, "--data-dir", join(place.path, "data"), "--drain-timeout", String(drainSeconds)],
			});
			const each = { ...service, folder: place };
			processes.add(each);
			return each;
		},
		async end() {
			for (const { child, end, folder: place } of processes) {
				if (child.exitCode === null && child.signalCode === null) await end();
				place.remove();
			}
			await Promise.all([...running].map(stop));
			await drop();
		},
	};
}
