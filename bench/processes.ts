/** Processes of a benchmark: echo, service and worker, each on its own, ended by pid. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const KEY = "bench-key-0123456789-0123456789";
const HERE = fileURLToPath(new URL(".", import.meta.url));

/** A process and the first line of its output that fits. */
async function started(child: ChildProcess, pattern: RegExp): Promise<string> {
	const lines = createInterface({ input: child.stdout! });
	const [line] = await new Promise<[string]>((resolve, reject) => {
		lines.on("line", (text) => {
			const found = pattern.exec(text);
			if (found) resolve([found[0]]);
		});
		child.once("exit", (code) => reject(new Error(`a process of the benchmark ended with code ${code}`)));
	});
	return line;
}

/** Ends a process and waits for it. */
export async function end(child: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	const exited = once(child, "exit");
	child.kill(signal);
	await exited;
}

export function startEcho(): Promise<{ url: string; child: ChildProcess }> {
	return startServer("echo-server.ts");
}

/** A server of this folder that prints its port. */
export async function startServer(file: string, ...args: string[]): Promise<{ url: string; child: ChildProcess }> {
	const child = spawn(process.execPath, [join(HERE, file), ...args], {
		stdio: ["ignore", "pipe", "inherit"],
	});
	return { url: `http://127.0.0.1:${await started(child, /\d+/)}`, child };
}

/** `job-relay.ts` with a worker of its own; with `place`, a file or URL, it keeps what it passes on. */
export async function startJobRelay(
	program: string,
	place?: string,
): Promise<{ url: string; children: ChildProcess[] }> {
	const { url, child } = await startServer("job-relay.ts", ...(place ? [place] : []));
	const worker = spawn(process.execPath, [join(HERE, program)], {
		stdio: ["ignore", "ignore", "inherit"],
		env: {
			...process.env,
			RUNPOD_WEBHOOK_GET_JOB: `${url}/job-take/$ID`,
			RUNPOD_WEBHOOK_POST_OUTPUT: `${url}/job-done/worker/$ID`,
			RUNPOD_WEBHOOK_POST_STREAM: `${url}/job-stream/worker/$ID`,
		},
	});
	return { url, children: [worker, child] };
}

/**
 * The service with one endpoint `noop`, `limits: off`, default durability; with `probe` it answers
 * how long its event loop was blocked (`loop-probe.ts`). `store` is a file in `folder` by default,
 * `endpoint` has further settings of it, `args` further options of `serve`, `file` further members
 * of `sluice.yaml`, `checkout` the folder of another built version; its stderr is this process's or a pipe.
 */
export async function startService(
	folder: string,
	{
		probe = false,
		store = `sqlite:${join(folder, "sluice.db")}`,
		port = 0,
		budgets = {} as Record<string, number>,
		endpoint = {} as Record<string, unknown>,
		args: further = [] as string[],
		env: variables = {} as Record<string, string>,
		file = {},
		checkout = join(HERE, ".."),
		stderr = "inherit" as "inherit" | "pipe",
	} = {},
): Promise<{ url: string; child: ChildProcess }> {
	const config = join(folder, "sluice.yaml");
	writeFileSync(
		config,
		JSON.stringify({
			endpoints: { noop: { launcher: { type: "external" }, limits: "off", ...endpoint } },
			budgets,
			...file,
		}),
	);
	const args = [
		...(probe ? ["--import", join(HERE, "loop-probe.ts")] : []),
		join(checkout, "bin/sluice.js"),
		"serve",
		"--config",
		config,
		"--port",
		String(port),
		"--store",
		store,
		"--drain-timeout",
		"0",
		...further,
	];
	const env = { ...process.env, SLUICE_API_KEY: KEY, SLUICE_SECRET: KEY, ...variables };
	const child = spawn(process.execPath, args, {
		cwd: folder,
		stdio: ["ignore", "pipe", stderr, ...(probe ? (["ipc"] as const) : [])],
		env,
	});
	return { url: await started(child, /https?:\/\/\S+/), child };
}

/** Variables that attach a worker to an endpoint. */
export async function workerEnv(url: string, endpoint = "noop"): Promise<Record<string, string>> {
	const answer = await fetch(`${url}/v1/endpoints/${endpoint}/worker-env?url=${encodeURIComponent(url)}`, {
		method: "POST",
		headers: { authorization: `Bearer ${KEY}` },
	});
	return ((await answer.json()) as { env: Record<string, string> }).env;
}

/**
 * A worker attached to an endpoint, in its own process; `file` is the one that does nothing, `env` further variables.
 * Resolves when a first job has come back.
 */
export async function startWorker(
	url: string,
	file = "noop-worker.ts",
	{ endpoint = "noop", env = {} as Record<string, string> } = {},
): Promise<ChildProcess> {
	const child = spawn(process.execPath, [join(HERE, file)], {
		stdio: ["ignore", "ignore", "inherit"],
		env: { ...process.env, ...(await workerEnv(url, endpoint)), ...env },
	});
	const first = await fetch(`${url}/v2/${endpoint}/runsync`, {
		method: "POST",
		headers: { authorization: `Bearer ${KEY}` },
		body: '{"input":{}}',
	});
	const { status } = (await first.json()) as { status: string };
	if (status !== "COMPLETED") throw new Error(`the first job is ${status}`);
	return child;
}
