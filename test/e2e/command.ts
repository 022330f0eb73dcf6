/** Runs the built command line as a process and collects what it says. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestContext } from "vitest";
import { within } from "../support/until.ts";

/** The command as it is installed. */
export const SLUICE = fileURLToPath(new URL("../../bin/sluice.js", import.meta.url));

/** A command in progress. */
export interface Running {
	stdout(): string;
	stderr(): string;
	/** Resolves when it has ended. */
	ended: Promise<{ code: number | null; stdout: string; stderr: string }>;
	end(signal?: NodeJS.Signals): void;
}

/**
 * How a command is run: `node` is the program and its flags before the script; variables that are
 * undefined are removed.
 */
export interface Surroundings {
	cwd: string;
	env?: Record<string, string | undefined>;
	node?: readonly string[];
	/** Its stdin; default: none. */
	input?: string;
}

/**
 * Starts `sluice` with these arguments; it ends with the test. No `SLUICE_` variable is inherited.
 */
export function start(
	{ onTestFinished }: Pick<TestContext, "onTestFinished">,
	args: readonly string[],
	{ cwd, env = {}, node = [process.execPath], input }: Surroundings,
): Running {
	const [file = "", ...flags] = node;
	const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("SLUICE_")));
	const child = spawn(file, [...flags, SLUICE, ...args], {
		cwd,
		// Neither colours nor contexts of the user who runs the tests.
		env: { ...inherited, FORCE_COLOR: undefined, XDG_CONFIG_HOME: join(cwd, "config"), ...env },
		stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
	});
	child.stdin?.end(input);
	const exited = once(child, "exit");
	onTestFinished(async () => {
		if (child.exitCode !== null || child.signalCode !== null) return;
		// A service, that of `dev` too, then ends its workers.
		child.kill("SIGINT");
		await within("the command to end", exited, 5000).catch(() => child.kill("SIGKILL"));
	});
	let stdout = "";
	let stderr = "";
	child.stdout?.on("data", (piece: Buffer) => (stdout += piece.toString()));
	child.stderr?.on("data", (piece: Buffer) => (stderr += piece.toString()));
	const closed = once(child, "close") as Promise<[number | null]>;
	return {
		stdout: () => stdout,
		stderr: () => stderr,
		ended: closed.then(([code]) => ({ code, stdout, stderr })),
		end: (signal = "SIGTERM") => void child.kill(signal),
	};
}

/** Runs `sluice` to its end. */
export function sluice(
	test: Pick<TestContext, "onTestFinished">,
	args: readonly string[],
	around: Surroundings,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
	return within(`'sluice ${args.join(" ")}' to end`, start(test, args, around).ended);
}
