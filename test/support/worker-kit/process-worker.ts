/** Runs a worker in its own process: for blocking handlers, signals and local runs. */
import { spawn } from "node:child_process";

/** A worker process under test. */
export interface ProcessWorker {
	/** Resolves when it has ended. */
	readonly exit: Promise<{ code: number | null; signal: string | null }>;
	/** Standard output and error so far. */
	output(): string;
	/** Resolves when the output contains the text. */
	printed(text: string): Promise<void>;
	signal(name: "SIGTERM" | "SIGINT"): void;
	/** Sends SIGKILL. */
	kill(): void;
}

/** Starts a process that runs `start({ handler, ...options })`; both are source text. */
export function startProcess(
	env: Record<string, string>,
	handler: string,
	{ options = "", args = [], cwd }: { options?: string; args?: string[]; cwd?: string } = {},
): ProcessWorker {
	const kit = new URL("../../../packages/worker/src/index.ts", import.meta.url).href;
	const source = `import { start } from ${JSON.stringify(kit)}; await start({ handler: ${handler}, ${options} });`;
	// With -e there is no script name, so the first argument takes its place.
	const child = spawn(process.execPath, ["--input-type=module", "-e", source, "--", "worker", ...args], {
		env: { PATH: process.env.PATH, ...env },
		...(cwd === undefined ? {} : { cwd }),
	});
	let output = "";
	let waiting: (() => void)[] = [];
	const add = (chunk: Buffer) => {
		output += chunk.toString();
		for (const look of waiting) look();
	};
	child.stdout.on("data", add);
	child.stderr.on("data", add);
	return {
		exit: new Promise((resolve) => child.on("close", (code, signal) => resolve({ code, signal }))),
		output: () => output,
		printed: (text) =>
			new Promise((resolve) => {
				const look = () => {
					if (!output.includes(text)) return;
					waiting = waiting.filter((other) => other !== look);
					resolve();
				};
				waiting.push(look);
				look();
			}),
		signal: (name) => void child.kill(name),
		kill: () => void child.kill("SIGKILL"),
	};
}
