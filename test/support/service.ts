/**
 * A whole service for tests: in this process on a clock of the test's choice, or as a process of
 * its own from the built package. A real store, real sockets, a folder of its own.
 */
import { MODULES } from "../../src/modules/index.ts";
import type { ServiceModule } from "../../src/modules/module.ts";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Clock, systemClock } from "../../src/kernel/system/clock.ts";
import { type App, startApp } from "../../src/kernel/compose.ts";
import { loadConfig } from "../../src/kernel/config/config.ts";
import { eventBus, type EventBus, type EventName, type Events } from "../../src/kernel/events.ts";
import { ON_POSTGRES, leaveStore, openOn, storeIn } from "./service-store.ts";
import { TLS_ENV } from "./transport.ts";

/** The API key of every service under test. */
export const KEY = "test-key-0123456789-0123456789";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A folder that goes with the test, and with it the store of the services in it. */
export interface Folder {
	path: string;
	remove(): void;
}

/** A new empty folder. */
export function folder(): Folder {
	const path = mkdtempSync(join(tmpdir(), "sluice-test-"));
	return {
		path,
		remove() {
			rmSync(path, { recursive: true, force: true });
			leaveStore(path);
		},
	};
}

/**
 * Calls the service as a client with the admin key; answers status, headers and parsed JSON
 * (undefined when empty).
 */
export async function call(
	url: string,
	path: string,
	init: {
		method?: string;
		body?: unknown;
		text?: string;
		headers?: Record<string, string>;
		key?: string | null;
	} = {},
): Promise<{ status: number; headers: Headers; text: string; json: any }> {
	const body = init.text ?? (init.body === undefined ? undefined : JSON.stringify(init.body));
	const key = init.key === undefined ? KEY : init.key;
	const response = await fetch(url + path, {
		method: init.method ?? (body === undefined ? "GET" : "POST"),
		headers: {
			...(key === null ? {} : { authorization: `Bearer ${key}` }),
			...(body === undefined ? {} : { "content-type": "application/json" }),
			...init.headers,
		},
		...(body === undefined ? {} : { body }),
	});
	const text = await response.text();
	return {
		status: response.status,
		headers: response.headers,
		text,
		// Lines of JSON are the test's to read.
		json: text === "" || response.headers.get("content-type")?.includes("ndjson") ? undefined : JSON.parse(text),
	};
}

/** The machine's disk may be nearly full, and a test's own disk is small (D41). */
const ANY_DISK = { reservedDisk: 0 };

/** A service in this process. */
export interface TestService extends App {
	folder: Folder;
	/** Resolves at the next such event that fits. Ask before what causes it. */
	next<N extends EventName>(name: N, fits?: (facts: Events[N]) => boolean): Promise<Events[N]>;
	/**
	 * To be called when the test's clock leapt without waking anybody: a service that goes by its
	 * database's clock compares the two at its next read, which this is.
	 */
	leapt(): void;
	/** Stops it and removes its folder. */
	end(): Promise<void>;
}

/**
 * Starts a service in this process. `endpoints` are settings by id, as in `sluice.yaml`; launcher
 * `external` by default. `settings` stand beside them in the file.
 */
export async function startService(q: {
	endpoints: Record<string, object>;
	settings?: Record<string, unknown>;
	clock?: Clock;
	/** Infinity: time that the clock leaps over passes for jobs, too. */
	pauseMs?: number;
	in?: Folder;
	/** Default: a free one. */
	port?: number;
	drainSeconds?: number;
	siteFolders?: Record<string, string>;
	/** Default: all. */
	modules?: readonly ServiceModule[];
	env?: Record<string, string>;
}): Promise<TestService> {
	const { modules = MODULES } = q;
	const place = q.in ?? folder();
	const config = join(place.path, "sluice.yaml");
	const budgets = { ...ANY_DISK, ...(q.settings?.["budgets"] as object | undefined) };
	const file = JSON.stringify({ ...q.settings, budgets, endpoints: q.endpoints });
	writeFileSync(config, file);
	const store = await storeIn(place.path);
	const clock = q.clock ?? systemClock;
	const loaded = loadConfig({
		modules,
		flags: { config, port: String(q.port ?? 0), "drain-timeout": String(q.drainSeconds ?? 0), ...store.flags },
		env: { SLUICE_API_KEY: KEY, ...store.env, ...TLS_ENV, ...q.env },
		cwd: place.path,
		readFile: () => file,
	});
	if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
	const events = eventBus();
	const app = await startApp(loaded.config, {
		modules,
		clock,
		events,
		open: openOn(clock),
		pauseMs: q.pauseMs,
		env: process.env,
		...(q.siteFolders === undefined ? {} : { siteFolders: q.siteFolders }),
	});
	return {
		...app,
		folder: place,
		next: (name, fits) => nextEvent(events, name, fits),
		leapt: () => void (ON_POSTGRES && app.engine.ready().catch(() => {})),
		async end() {
			await app.stop();
			if (!q.in) place.remove();
		},
	};
}

/** Resolves at the next such event that fits. */
export function nextEvent<N extends EventName>(
	events: EventBus,
	name: N,
	fits: (facts: Events[N]) => boolean = () => true,
): Promise<Events[N]> {
	return new Promise((resolve) => {
		const remove = events.on(name, (facts) => {
			if (!fits(facts)) return;
			remove();
			resolve(facts);
		});
	});
}

/** A service as a process of its own. */
export interface ServiceProcess {
	url: string;
	child: ChildProcess;
	stdout(): string;
	stderr(): string;
	/** Sends the signal (SIGINT, which ends workers too) and waits for the end; answers the exit code. */
	end(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts the built command. `yaml` is the text of `sluice.yaml` (JSON is YAML). */
export async function spawnService(q: {
	in: Folder;
	endpoints: Record<string, object>;
	port?: number;
	args?: readonly string[];
	env?: Record<string, string>;
	/** Further members of `sluice.yaml`. */
	file?: object;
	/** Folder of the built package. */
	package?: string;
}): Promise<ServiceProcess> {
	const config = join(q.in.path, "sluice.yaml");
	writeFileSync(config, JSON.stringify({ budgets: ANY_DISK, endpoints: q.endpoints, ...q.file }));
	const store = await storeIn(q.in.path);
	const args = [
		join(q.package ?? ROOT, "bin/sluice.js"),
		"serve",
		"--config",
		config,
		"--port",
		String(q.port ?? 0),
		...Object.entries(store.flags).flatMap(([name, value]) => [`--${name}`, value]),
		...(q.args ?? []),
	];
	const child = spawn(process.execPath, args, {
		cwd: q.in.path,
		env: {
			...process.env,
			SLUICE_API_KEY: KEY,
			SLUICE_LOG_FORMAT: "text",
			...store.env,
			...TLS_ENV,
			...q.env,
		},
		stdio: ["ignore", "pipe", "pipe"],
	});
	let said = "";
	let errors = "";
	child.stderr.on("data", (piece: Buffer) => (errors += piece.toString()));
	const exited = once(child, "exit") as Promise<[number | null]>;
	const url = await new Promise<string>((resolve, reject) => {
		createInterface({ input: child.stdout }).on("line", (line) => {
			said += `${line}\n`;
			const match = /https?:\/\/\S+/.exec(line);
			if (match) resolve(match[0]);
		});
		void exited.then(([code]) => reject(new Error(`the service ended with ${code}: ${errors}`)));
	});
	return {
		url,
		child,
		stdout: () => said,
		stderr: () => errors,
		async end(signal = "SIGINT") {
			child.kill(signal);
			return (await exited)[0];
		},
	};
}
