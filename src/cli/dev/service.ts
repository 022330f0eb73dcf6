/** The service of `sluice dev`: one endpoint on loopback, webhooks to this machine (D21, D36). */
import { systemClock } from "../../clock.ts";
import { isFinal } from "../../core/job-states.ts";
import { stringOf } from "../../core/json/json-text.ts";
import type { App } from "../../compose.ts";
import { withoutSecrets } from "../../config/options.ts";
import { type Config, loadConfig } from "../../config/config.ts";
import { eventBus, type EventBus } from "../../events.ts";
import { CliError } from "../errors.ts";
import { membersOf } from "../json-members.ts";
import { jobCalls, type JobCalls } from "../submit/job-calls.ts";
import { envFileOf } from "./dot-env.ts";
import { type JobReader, printEvents } from "./log-lines.ts";
import type { DevState } from "./state.ts";
import type { DevTarget } from "./target.ts";
import { workerLine } from "./worker-lines.ts";
import { type Crash, devWorker, type DevWorker, type DevWorkers } from "./worker-process.ts";

/** A running service; the worker starts at the first `restart`. */
export interface DevSession {
	url: string;
	/** Single-use sign-in link. */
	consoleLink: string | undefined;
	/** Another one; undefined if none can be made. */
	newConsoleLink(): Promise<string | undefined>;
	worker: DevWorker;
	calls: JobCalls;
	/** Cancels the running jobs, or those that wait; returns a line about it. */
	cancel(): Promise<string>;
	stop(): Promise<void>;
}

type Env = Readonly<Record<string, string | undefined>>;

interface DevOptions {
	target: DevTarget;
	state: DevState;
	/** Undefined: the default port, or a free one if in use. */
	port: string | undefined;
	env: Env;
	/** Overrides all others. */
	testEnv?: Readonly<Record<string, string>>;
	/** Debugging lines and whole stack traces too. */
	verbose: boolean;
	print: (line: string) => void;
	onCrash: (crash: Crash) => void;
}

const DEFAULT_PORT = "8080";
/** Time for the worker to exit, ms. */
const GRACE_MS = 500;

/** Throws {@link CliError}. */
export async function startDev(options: DevOptions): Promise<DevSession> {
	const { target, state, verbose, print, onCrash } = options;
	const { endpoint } = target;
	const events = eventBus();
	const app = await startService(options, events);
	const { engine, url, consoleLink } = app;
	const stopping = new AbortController();
	const { signal } = stopping;
	const read = jobReader(app, { endpoint, stopped: signal });
	const { unfinished } = printEvents({ events, print, verbose, clock: systemClock, read });
	const registry = workerRegistry(app, events, { endpoint, state });
	if (state.lastWorker !== undefined) await registry.workerEnded(state.lastWorker);
	const worker = devWorker({
		target,
		env: () => ({
			RUNPOD_DEBUG_LEVEL: verbose ? "DEBUG" : "INFO",
			...withoutSecrets(options.env),
			...target.env,
			...envFileOf(target.folder, options.env),
			...options.testEnv,
		}),
		registry,
		clock: systemClock,
		onLine(text) {
			const line = workerLine(text, { verbose, colours: process.stdout.isTTY });
			if (line !== undefined) print(line);
		},
		onCrash,
	});
	return {
		url,
		consoleLink,
		async newConsoleLink() {
			const link = await engine.access.consoleLinks.makeOwn();
			return link && url + link.path;
		},
		worker,
		async cancel() {
			const ids = unfinished();
			for (const id of ids) await engine.jobs.cancel({ endpoint, id }).catch(() => {});
			return ids.length === 0 ? "No job to cancel." : `Cancelling ${ids.join(", ")}.`;
		},
		calls: jobCalls({
			connection: { base: url, key: state.key, keyFrom: ".sluice/dev.json" },
			endpoint,
			clock: systemClock,
			signal,
		}),
		async stop() {
			stopping.abort();
			await worker.stop(GRACE_MS);
			await app.stop();
		},
	};
}

/** Maximum chunk text of one read, bytes. */
const CHUNK_BYTES = 1024 * 1024;
/** Maximum wait of a read, ms. */
const CHUNK_WAIT_MS = 60_000;

function jobReader({ engine }: App, q: { endpoint: string; stopped: AbortSignal }): JobReader {
	const { endpoint, stopped } = q;
	return {
		async result(id) {
			const { output, outputBytes, error } = await engine.jobs.status({ endpoint, id });
			const size = outputBytes === undefined ? undefined : `"(${outputBytes} bytes)"`;
			return { output: output === undefined ? size : stringOf(output), error };
		},
		async chunks(id, { from, signal }) {
			const caller: { disconnected: boolean; onDisconnect?: (() => void) | undefined } = {
				disconnected: false,
			};
			const leave = (): void => {
				caller.disconnected = true;
				caller.onDisconnect?.();
			};
			const left = AbortSignal.any([signal, stopped]);
			left.addEventListener("abort", leave, { once: true });
			try {
				const { chunks, next, state } = await engine.jobs.streamFrom({
					endpoint,
					id,
					from,
					waitMs: CHUNK_WAIT_MS,
					caller,
					bounded: (read) => read(CHUNK_BYTES),
				});
				const outputs = chunks.map((chunk) => {
					const found = membersOf(chunk, ["output"]);
					return (found.ok ? found.texts["output"] : undefined) ?? chunk;
				});
				return { chunks: outputs, next, over: isFinal(state) || left.aborted };
			} finally {
				left.removeEventListener("abort", leave);
			}
		},
	};
}

function workerRegistry(
	{ engine, url }: App,
	events: EventBus,
	{ endpoint, state }: { endpoint: string; state: DevState },
): DevWorkers {
	const worked = new Set<string>();
	events.on("job.started", ({ worker }) => void worked.add(worker));
	const find = (id: string) => [...engine.workers.of(endpoint)].find((worker) => worker.id === id);
	return {
		async newWorker() {
			const variables = await engine.workers.env({ endpoint, url, replicas: false });
			state.setWorker(variables["RUNPOD_POD_ID"]);
			return variables;
		},
		async workerEnded(id) {
			const jobs = find(id)?.held.size ?? 0;
			await engine.jobs.workerEnded({ endpoint, id });
			state.setWorker(undefined);
			return jobs;
		},
		progress: (id) => ({ polled: find(id)?.ready ?? false, worked: worked.has(id) }),
	};
}

async function startService(options: DevOptions, events: EventBus): Promise<App> {
	const { port, print } = options;
	// Keeps the service out of the memory of other commands.
	const { startApp } = await import("../../compose.ts");
	const start = (at: string): Promise<App> => startApp(configOf(at, options), { clock: systemClock, events, env: {} });
	try {
		return await start(port ?? DEFAULT_PORT);
	} catch (error) {
		if (error instanceof CliError) throw error;
		const inUse = (error as NodeJS.ErrnoException).code === "EADDRINUSE";
		if (inUse && port === undefined) {
			print(`Port ${DEFAULT_PORT} is in use; using a free port.`);
			return await start("0");
		}
		const reason = inUse ? `port ${port} is in use. Leave --port out, or choose another.` : (error as Error).message;
		throw new CliError(`The service could not start: ${reason}`, 1);
	}
}

function configOf(port: string, { target, state, env }: DevOptions): Config {
	const settings = {
		...(target.name === undefined ? {} : { name: target.name }),
		launcher: { type: "external" },
	};
	const loaded = loadConfig({
		flags: { port, host: "127.0.0.1", store: `sqlite:${state.database}`, "drain-timeout": "0" },
		env: {
			SLUICE_API_KEY: state.key,
			SLUICE_SECRET: env["SLUICE_SECRET"],
			SLUICE_SECRET_PREVIOUS: env["SLUICE_SECRET_PREVIOUS"],
		},
		cwd: target.folder,
		readFile: () =>
			JSON.stringify({ endpoints: { [target.endpoint]: settings }, webhooks: { allowPrivateNetworks: true } }),
	});
	if (!loaded.ok)
		throw new CliError(loaded.problems.map((problem) => problem.replace(/^.*sluice\.yaml: /, "")).join("\n"));
	return loaded.config;
}
