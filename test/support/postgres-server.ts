/**
 * A real PostgreSQL server of a test's own, which it may stop, kill and start again on the same
 * port and data.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, chownSync, closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "./free-port.ts";
import { baseBackup } from "./postgres-backup.ts";
import { createRole, databasesAt, type PostgresAccess, type PostgresDatabases } from "./postgres-databases.ts";
import { isReady, makeFolder, removeFolder, sweepLeftovers } from "./postgres-folder.ts";
import { orderFor, programsFor, serverUser, type ServerUser } from "./postgres-programs.ts";
import { until } from "./until.ts";

/**
 * A server that runs, until it is stopped. It is removed with its owner's process at the
 * latest.
 */
export interface PostgresServer extends PostgresDatabases {
	readonly access: PostgresAccess;
	readonly port: number;
	readonly dataDir: string;
	/** What the server logs. */
	readonly logFile: string;
	/**
	 * Ends it. `fast`: sessions are ended, all is written. `immediate`: as in a crash, the next start
	 * recovers. Resolves when it has ended.
	 */
	stop(mode?: "fast" | "immediate"): Promise<void>;
	/** SIGKILL. Sessions notice later, so a statement that runs may still end. */
	kill(): Promise<void>;
	/**
	 * SIGKILL to all of its processes at the same moment, as when the machine fails: nothing that was
	 * not flushed is written any more.
	 */
	crash(): Promise<void>;
	/**
	 * Starts it again, and resolves when it accepts connections. Rejects with its log when it ends
	 * before that.
	 */
	start(): Promise<void>;
	/** Ends it and removes its folder. */
	remove(): Promise<void>;
}

/**
 * Flushes are real. Dynamic shared memory is in its folder, so that a killed server leaves nothing
 * elsewhere.
 */
const SETTINGS = {
	max_connections: "200",
	shared_buffers: "32MB",
	dynamic_shared_memory_type: "mmap",
	log_line_prefix: "%m [%p] %d ",
};

/** Longest time for one start, ms. */
const START_MS = 60_000;

/** How long a start waits for processes of a killed server to end, ms. */
const OLD_PROCESSES_MS = 10_000;

const folders = new Set<string>();

function removeAll(): void {
	for (const folder of folders) removeFolder(folder);
}

process.on("exit", removeAll);
for (const signal of ["SIGINT", "SIGTERM"] as const) {
	process.once(signal, () => {
		removeAll();
		// The signal does what it would have done without us.
		if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
	});
}

/**
 * Makes and starts a server; about 1 s. `settings` go to its configuration. `standbyOf`: a standby
 * of that server, made of a base backup, which follows asynchronously; its name is `standby`. Text is
 * ordered as people of a language do it (`orderFor`), as on most servers: statements that count on
 * the order of bytes must say so.
 */
export async function startPostgres({
	settings = {},
	standbyOf,
	env = {},
	network,
}: {
	settings?: Record<string, string>;
	standbyOf?: PostgresServer;
	/** Further variables of its environment. */
	env?: NodeJS.ProcessEnv;
	/** It runs in this network namespace, where it has these addresses; needs root. */
	network?: { namespace: string; addresses: readonly string[] };
} = {}): Promise<PostgresServer> {
	await sweepLeftovers();
	const user = serverUser();
	const folder = await makeFolder(user);
	folders.add(folder);
	const dataDir = join(folder, "data");
	const logFile = join(folder, "postgres.log");
	const programs = programsFor(user, folder);
	const access: PostgresAccess = {
		port: await freePort(),
		socketDir: folder,
		password: standbyOf?.access.password ?? randomBytes(12).toString("hex"),
	};
	const listening = network?.addresses.join(",") ?? "127.0.0.1";
	let child: ChildProcess | undefined;

	/** Of a server that runs, and goes on. */
	async function copy(primary: PostgresServer): Promise<void> {
		const slot = basename(folder).replaceAll(/\W/g, "_").toLowerCase();
		await baseBackup({
			adminUrl: primary.adminUrl("postgres"),
			from: primary.dataDir,
			to: dataDir,
			slot,
			user,
		});
		const config = {
			...settings,
			primary_slot_name: slot,
			primary_conninfo:
				`host=127.0.0.1 port=${primary.port} user=postgres password=${access.password} ` + "application_name=standby",
		};
		appendFileSync(join(dataDir, "postgresql.conf"), configOf(config));
		writeFileSync(join(dataDir, "standby.signal"), "");
	}

	async function initialize(): Promise<void> {
		if (standbyOf) return await copy(standbyOf);
		const passwordFile = join(folder, "password");
		writeFileSync(passwordFile, access.password, { mode: 0o600 });
		if (user) chownSync(passwordFile, user.uid, user.gid);
		const login = ["-U", "postgres", "-A", "scram-sha-256", `--pwfile=${passwordFile}`];
		await promisify(execFile)(
			join(programs, "initdb"),
			["-D", dataDir, "--no-sync", ...login, "--encoding=UTF8", ...orderFor(programs)],
			{ ...user, cwd: folder },
		);
		if (network) appendFileSync(join(dataDir, "pg_hba.conf"), "host all all samenet scram-sha-256\n");
		// Before version 16, initdb takes no settings.
		appendFileSync(join(dataDir, "postgresql.conf"), configOf({ ...SETTINGS, ...settings }));
	}

	/**
	 * Resolves when it accepts connections, with undefined, or when it has ended, with what it
	 * logged.
	 */
	async function launch(): Promise<string | undefined> {
		const log = openSync(logFile, "a");
		const logged = readFileSync(logFile).length;
		// A group of its own: what a terminal sends to the tests is not meant for it.
		const [program, ...before] = commandIn(network?.namespace, user, join(programs, "postgres"));
		const started = spawn(
			program!,
			[...before, "-D", dataDir, "-p", String(access.port), "-h", listening, "-k", folder],
			{
				...(network ? {} : user),
				cwd: folder,
				env: { ...process.env, ...env },
				detached: true,
				stdio: ["ignore", log, log],
			},
		);
		closeSync(log);
		child = started;
		await until(
			"PostgreSQL to accept connections or to end",
			() => isReady(dataDir, started.pid) || hasEnded(started),
			START_MS,
		);
		if (hasEnded(started)) return readFileSync(logFile).subarray(logged).toString();
		started.unref();
		return undefined;
	}

	async function start(): Promise<void> {
		if (child && !hasEnded(child)) throw new Error("this PostgreSQL runs already");
		let failure: string | undefined;
		await until(
			"the processes of the old PostgreSQL to end",
			async () => {
				failure = await launch();
				return !failure?.includes("is still in use");
			},
			OLD_PROCESSES_MS,
		);
		if (failure !== undefined) throw new Error(`PostgreSQL did not start:\n${failure}`);
	}

	async function end(signal: NodeJS.Signals): Promise<void> {
		if (!child || hasEnded(child)) return;
		child.ref();
		const ended = once(child, "exit");
		child.kill(signal);
		await ended;
	}

	async function crash(): Promise<void> {
		if (!child || hasEnded(child)) return;
		child.ref();
		const ended = once(child, "exit");
		// Stopped first, so that it starts no more of them.
		child.kill("SIGSTOP");
		for (const pid of childrenOf(child.pid!)) process.kill(pid, "SIGKILL");
		child.kill("SIGKILL");
		await ended;
	}

	async function remove(): Promise<void> {
		await end("SIGQUIT");
		folders.delete(folder);
		removeFolder(folder);
	}

	try {
		await initialize();
		await start();
		if (!standbyOf) await createRole(access);
	} catch (error) {
		await remove();
		throw error;
	}
	return {
		...databasesAt(access),
		access,
		port: access.port,
		dataDir,
		logFile,
		stop: (mode = "fast") => end(mode === "fast" ? "SIGINT" : "SIGQUIT"),
		kill: () => end("SIGKILL"),
		crash,
		start,
		remove,
	};
}

/** The program itself, or one that starts it in a network namespace as that user. */
function commandIn(namespace: string | undefined, user: ServerUser, program: string): string[] {
	if (namespace === undefined) return [program];
	const as = user ? ["--setuid", String(user.uid), "--setgid", String(user.gid)] : [];
	return ["nsenter", `--net=/run/netns/${namespace}`, ...as, "--", program];
}

function configOf(settings: Record<string, string>): string {
	return Object.entries(settings)
		.map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`)
		.join("");
}

function childrenOf(pid: number): number[] {
	const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n");
	return lines
		.map((line) => line.trim().split(/\s+/).map(Number))
		.flatMap(([each, parent]) => (parent === pid ? [each!] : []));
}

function hasEnded(child: ChildProcess): boolean {
	return child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
}
