/** The server as a child of the adapter, in a process group of its own. */
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { constants } from "node:os";
import type { Log } from "../../log.ts";

export interface ServerProcess {
	/** Exit code for the adapter: that of the server; 70 for 0, 128 + n for signal n, 0 after {@link stop}. */
	readonly ended: Promise<number>;
	/** SIGTERM to the group. Resolves at the end of the server. */
	stop(): Promise<void>;
	/** SIGKILL to the group. */
	kill(): void;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Exit code of a server that ended without an error, although it should run (sysexits, EX_SOFTWARE). */
const ENDED_ALONE = 70;
/** Exit code of shells for a command that cannot be started. */
const NOT_STARTED = 127;

/** `port` replaces `{port}` in the command and is the variable PORT. The child inherits the standard streams. */
export function startServer(
	command: readonly string[],
	{ env, port, log }: { env: Env; port: number | undefined; log: Log },
): ServerProcess {
	const [program = "", ...args] =
		port === undefined ? command : command.map((each) => each.replaceAll("{port}", `${port}`));
	const child = spawn(program, args, { env: serverEnv(env, port), stdio: "inherit", detached: true });
	let stopping = false;
	const signal = (name: NodeJS.Signals): void => {
		try {
			if (child.pid !== undefined) process.kill(-child.pid, name);
		} catch {
			// The group has ended.
		}
	};
	const killAtExit = (): void => signal("SIGKILL");
	process.once("exit", killAtExit);
	const ended = new Promise<number>((resolve) => {
		child.once("error", (error) => {
			log("ERROR", `The server's command cannot be started: ${error.message}`);
			resolve(NOT_STARTED);
		});
		child.once("exit", (code, name) => {
			process.off("exit", killAtExit);
			// Processes that the server started and left.
			signal("SIGKILL");
			if (!stopping) log("ERROR", `The server ended with ${name === null ? `exit code ${code}` : `signal ${name}`}.`);
			if (stopping) resolve(0);
			else resolve(name === null ? code || ENDED_ALONE : 128 + constants.signals[name]);
		});
	});
	return {
		ended,
		async stop() {
			stopping = true;
			signal("SIGTERM");
			await ended;
		},
		kill: killAtExit,
	};
}

/**
 * The adapter's variables without those that give access to the service. The worker's id and `SLUICE_SERVICE_ID` stay:
 * by them the service finds processes that a worker leaves.
 */
export function serverEnv(env: Env, port: number | undefined): Record<string, string> {
	const kept = Object.entries(env).filter(
		([name, value]) => value !== undefined && !/^(?:RUNPOD_WEBHOOK_.*|RUNPOD_AI_API_KEY|SLUICE_HTTP)$/.test(name),
	) as [string, string][];
	return { ...Object.fromEntries(kept), ...(port !== undefined && { PORT: `${port}` }) };
}

/** A port of 127.0.0.1 that no program listens on. Another program may take it before the server does. */
export function freePort(): Promise<number> {
	return new Promise((resolve, reject) => {
		const server = createServer();
		server.once("error", reject);
		server.listen(0, "127.0.0.1", () => {
			const { port } = server.address() as { port: number };
			server.close(() => resolve(port));
		});
	});
}
