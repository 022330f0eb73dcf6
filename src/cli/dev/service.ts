/** The service of `sluice dev`: one endpoint on loopback, webhooks to this machine (D21, D36). */
import { MODULES } from "../../modules/index.ts";
import { systemClock } from "../../kernel/system/clock.ts";
import { isFinal } from "../../kernel/core/jobs/job-states.ts";
import { stringOf } from "../../kernel/lib/json/json-text.ts";
import type { App } from "../../kernel/compose.ts";
import { withoutSecrets } from "../../kernel/config/options.ts";
import { type Config, loadConfig } from "../../kernel/config/config.ts";
import { eventBus, type EventBus } from "../../kernel/events.ts";
import { CliError } from "../client/errors.ts";
import { membersOf } from "../framework/json-members.ts";
import { jobCalls } from "../submit/job-calls.ts";
import type { JobReader } from "./output/log-lines.ts";
import type { DevState } from "./state.ts";
import { type DevTarget, envFileOf } from "./target.ts";
import { workerLine } from "./output/worker-lines.ts";
import { type Crash, devWorker } from "./output/worker-process.ts";
import type { Env } from "../../kernel/lib/env.ts";

interface DevOptions {
	target: DevTarget;
	state: DevState;
	/** Undefined: the default port, or a free one. */
	port: string | undefined;
	env: Env;
	testEnv?: Readonly<Record<string, string>>;
	verbose: boolean;
	print: (line: string) => void;
	onCrash: (crash: Crash) => void;
	onSilence: () => void;
}

const DEFAULT_PORT = "8080";
const GRACE_MS = 500;

export type DevSession = Awaited<ReturnType<typeof startDev>>;

/** The worker starts at the first `restart`. Throws {@link CliError}. */
export async function startDev(options: DevOptions) {
	const { target, state, verbose, print, onCrash, onSilence } = options;
	const { endpoint } = target;
	const events = eventBus();
	// A static import would load the log for every command.
	const { printEvents } = await import("./output/log-lines.ts");
	const app = await startService(options, events);
	const { engine, url, consoleLink } = app;
	const stopping = new AbortController();
	const { signal } = stopping;
	const read = jobReader(app, endpoint, signal);
	const { unfinished } = printEvents({ events, print, verbose, clock: systemClock, read });
	const registry = workerRegistry(app, events, options);
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
		onSilence,
	});
	return {
		url,
		consoleLink,
		async newConsoleLink(): Promise<string | undefined> {
			const link = await app.modules.signInLink();
			return link && url + link;
		},
		worker,
		async cancel(): Promise<string> {
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
		async stop(): Promise<void> {
			stopping.abort();
			await worker.stop(GRACE_MS);
			await app.stop();
		},
	};
}

const CHUNK_BYTES = 1024 * 1024;
/** A larger one, bytes, is printed as its size. */
const MAX_OUTPUT = 32e6;
const CHUNK_WAIT_MS = 60_000;

function jobReader({ engine }: App, endpoint: string, stopped: AbortSignal): JobReader {
	return {
		async result(id) {
			const { output, outputBytes, error } = await engine.jobs.status({
				endpoint,
				id,
				output: ({ outputBytes }) => ((outputBytes ?? Infinity) <= MAX_OUTPUT ? Promise.resolve() : undefined),
			});
			if (output !== undefined) return { output: stringOf(output), error };
			return { output: outputBytes === undefined ? undefined : `"(${outputBytes} bytes)"`, error };
		},
		async chunks(id, { from, signal }) {
			const caller = { disconnected: false, onDisconnect: undefined as (() => void) | undefined };
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

function workerRegistry({ engine, url }: App, events: EventBus, { target: { endpoint }, state }: DevOptions) {
	const worked = new Set<string>();
	events.on("job.started", ({ worker }) => void worked.add(worker));
	const find = (id: string) => [...engine.workers.of(endpoint)].find((worker) => worker.id === id);
	return {
		async newWorker(): Promise<Record<string, string>> {
			const variables = await engine.workers.env({ endpoint, url, replicas: false });
			state.setWorker(variables["RUNPOD_POD_ID"]);
			return variables;
		},
		async workerEnded(id: string): Promise<number> {
			const jobs = find(id)?.held.size ?? 0;
			await engine.jobs.workerEnded({ endpoint, id });
			state.setWorker(undefined);
			return jobs;
		},
		progress: (id: string) => ({ polled: find(id)?.ready ?? false, worked: worked.has(id) }),
	};
}

async function startService(options: DevOptions, events: EventBus): Promise<App> {
	const { port } = options;
	// A static import would load the service for every command.
	const { startApp } = await import("../../kernel/compose.ts");
	const start = (at: string): Promise<App> =>
		startApp(configOf(at, options), { modules: MODULES, clock: systemClock, events, env: {} });
	try {
		return await start(port ?? DEFAULT_PORT);
	} catch (error) {
		if (error instanceof CliError) throw error;
		const inUse = (error as NodeJS.ErrnoException).code === "EADDRINUSE";
		if (inUse && port === undefined) {
			options.print(`Port ${DEFAULT_PORT} is in use; using a free port.`);
			return await start("0");
		}
		const reason = inUse ? `port ${port} is in use. Leave --port out, or choose another.` : (error as Error).message;
		throw new CliError(`The service could not start: ${reason}`, 1);
	}
}

function configOf(port: string, { target, state, env }: DevOptions): Config {
	const settings = { name: target.name, launcher: { type: "external" } };
	const loaded = loadConfig({
		modules: MODULES,
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
