/**
 * Starts and ends the service that the demo talks to, as a child process with its own store, key
 * and port.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, delimiter } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** The running service, seen from outside. */
export type DemoService = {
	/** The base address, as soon as the service has printed it; rejects when it ends before. */
	listening: Promise<string>;
	/**
	 * Aborts with an error that says the exit code when the service ends without a stop signal.
	 */
	ended: AbortSignal;
	/**
	 * Sends SIGTERM and waits for the end; kills after 40 s. Rejects when the exit code is not 0.
	 * Later calls await the same end.
	 */
	stop(): Promise<void>;
	/** The last lines of its standard error, each behind "service: "; empty when it wrote none. */
	errorTail(): string;
};

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const TAIL_LINES = 30;
const STOP_LIMIT_MS = 40_000;
const LAST_LINES_MS = 1_000;

/** Starts `sluice serve` on a free loopback port. `store` as in `--store` (D34). */
export function startDemoService(settings: { key: string; store: string }): DemoService {
	const child = spawn(
		process.execPath,
		[
			...["bin/sluice.js", "serve", "--config", "examples/sluice.yaml", "--port", "0"],
			...["--store", settings.store, "--stop-workers"],
		],
		{
			cwd: ROOT,
			env: environment(settings.key),
			stdio: ["ignore", "pipe", "pipe"],
			// A group of its own, so that Ctrl-C reaches only the demo, which then stops the service in
			// order.
			detached: process.platform !== "win32",
		},
	);
	const ended = new AbortController();
	const tail: string[] = [];
	let stopping = false;
	const exit = new Promise<string>((resolve) => {
		child.once("error", (error) => resolve(error.message));
		child.once("exit", (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
	});
	const closed = once(child, "close");
	const exited = exit.then(async (how) => {
		// A process that the service started may hold its pipes open: wait for the last lines, but not
		// without end.
		await Promise.race([closed, sleep(LAST_LINES_MS, undefined, { ref: false })]);
		child.stdout.destroy();
		child.stderr.destroy();
		if (!stopping) ended.abort(new Error(`The service ended unexpectedly: ${how}.`));
		return how;
	});
	createInterface({ input: child.stderr }).on("line", (line) => {
		tail.push(line);
		if (tail.length > TAIL_LINES) tail.shift();
	});
	const listening = new Promise<string>((resolve, reject) => {
		createInterface({ input: child.stdout }).on("line", (line) => {
			const address = /http:\/\/127\.0\.0\.1:\d+/.exec(line);
			if (address !== null) resolve(address[0]);
		});
		ended.signal.addEventListener("abort", () => reject(ended.signal.reason as Error), {
			once: true,
		});
	});
	listening.catch(() => {});

	const stop = async (): Promise<void> => {
		stopping = true;
		child.kill("SIGTERM");
		const timer = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
		const how = await exited;
		clearTimeout(timer);
		if (how !== "exit code 0") throw new Error(`The service got a stop signal and ended with ${how}.`);
	};

	return {
		listening,
		ended: ended.signal,
		stop,
		errorTail: () => tail.map((line) => `service: ${line}\n`).join(""),
	};
}

/**
 * This environment without foreign `SLUICE_` settings, and with this Node first on PATH for the
 * workers.
 */
function environment(key: string): NodeJS.ProcessEnv {
	const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("SLUICE_"));
	return {
		...Object.fromEntries(kept),
		PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"] ?? ""}`,
		SLUICE_API_KEY: key,
		SLUICE_WEBHOOKS_ALLOW_PRIVATE_NETWORKS: "true",
	};
}
