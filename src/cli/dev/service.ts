/**
 * The service of `sluice dev` with its worker: one endpoint on loopback, webhooks to this machine
 * allowed (D21, D36).
 */
import { systemClock } from "../../clock.ts";
import type { App } from "../../compose.ts";
import { OWN_VARIABLES, loadConfig } from "../../config.ts";
import type { Config } from "../../config.ts";
import { eventBus } from "../../events.ts";
import type { EventBus } from "../../events.ts";
import { CliError } from "../command.ts";
import { devLines, workerLine } from "./log-lines.ts";
import { devWorker } from "./worker-process.ts";
import type { Crash, DevService, DevWorker } from "./worker-process.ts";
import type { DevTarget } from "./target.ts";
import { jobCalls } from "../submit/job-calls.ts";
import type { JobCalls } from "../submit/job-calls.ts";

/** Both, running; the worker from its first `restart`. */
export interface DevSession {
	url: string;
	/** What signs in to the console once. */
	consoleLink: string | undefined;
	worker: DevWorker;
	/** Calls of a client on the endpoint. */
	calls: JobCalls;
	/** Ends worker and service. */
	stop(): Promise<void>;
}

/**
 * Where it keeps what. `lastWorker` is one that an earlier run may have left; `remember` notes the
 * present one.
 */
export interface DevState {
	path: string;
	key: string;
	lastWorker?: string | undefined;
	remember(worker: string | undefined): void;
}

const DEFAULT_PORT = "8080";
/** How long a worker gets at the end, ms. */
const GRACE_MS = 500;

/** Starts the service. Throws {@link CliError}. */
export async function startDev(q: {
	target: DevTarget;
	kept: DevState;
	port: string | undefined;
	env: Readonly<Record<string, string | undefined>>;
	say: (line: string) => void;
	crashed: (crash: Crash) => void;
}): Promise<DevSession> {
	const { target, kept, say } = q;
	const endpoint = target.endpoint;
	const events = eventBus();
	const begun = new Set<string>();
	events.on("job.started", ({ worker }) => void begun.add(worker));
	const app = await startAt(q.port, { ...q, events });
	const { engine, url, consoleLink } = app;
	devLines({
		events,
		say,
		clock: systemClock,
		errorOf: async (id) =>
			(await engine.jobs.status({ endpoint, id }).catch(() => undefined))?.error,
	});
	const workerOf = (id: string) =>
		[...engine.workers.of(endpoint)].find((worker) => worker.id === id);
	const service: DevService = {
		async newWorker() {
			const variables = await engine.workers.env({ endpoint, url, replicas: false });
			kept.remember(variables["RUNPOD_POD_ID"]);
			return variables;
		},
		async workerEnded(id) {
			const held = workerOf(id)?.held.size ?? 0;
			await engine.jobs.endWorker({ endpoint, id });
			kept.remember(undefined);
			return held;
		},
		sofar: (id) => ({ asked: workerOf(id)?.ready ?? false, worked: begun.has(id) }),
	};
	if (kept.lastWorker !== undefined) await service.workerEnded(kept.lastWorker);
	const own = Object.entries(q.env).filter(
		(entry): entry is [string, string] =>
			entry[1] !== undefined && !OWN_VARIABLES.includes(entry[0]),
	);
	const worker = devWorker({
		target,
		env: Object.fromEntries(own),
		service,
		clock: systemClock,
		line: (text) => say(workerLine(text)),
		crashed: q.crashed,
	});
	const over = new AbortController();
	return {
		url,
		consoleLink,
		worker,
		calls: jobCalls({
			base: url,
			key: kept.key,
			endpoint,
			clock: systemClock,
			signal: over.signal,
		}),
		async stop() {
			over.abort();
			await worker.stop(GRACE_MS);
			await app.stop();
		},
	};
}

/** At the port asked for, else at the usual one, else at a free one. */
async function startAt(
	port: string | undefined,
	q: {
		target: DevTarget;
		kept: DevState;
		env: Readonly<Record<string, string | undefined>>;
		say: (line: string) => void;
		events: EventBus;
	},
): Promise<App> {
	// Loaded when it is needed: the other commands do without the service in their memory.
	const { startApp } = await import("../../compose.ts");
	const start = (at: string): Promise<App> =>
		startApp(configOf(at, q), { clock: systemClock, events: q.events, env: {} });
	try {
		return await start(port ?? DEFAULT_PORT);
	} catch (error) {
		if (error instanceof CliError) throw error;
		const inUse = (error as NodeJS.ErrnoException).code === "EADDRINUSE";
		if (inUse && port === undefined) {
			q.say(`Port ${DEFAULT_PORT} is in use: a free one is taken.`);
			return await start("0");
		}
		throw new CliError(
			`The service could not start: ${inUse ? `port ${port} is in use. Leave --port out, or choose another.` : (error as Error).message}`,
			1,
		);
	}
}

function configOf(
	port: string,
	{
		target,
		kept,
		env,
	}: { target: DevTarget; kept: DevState; env: Readonly<Record<string, string | undefined>> },
): Config {
	const settings = {
		...(target.name === undefined ? {} : { name: target.name }),
		launcher: { type: "external" },
	};
	const loaded = loadConfig({
		flags: { port, host: "127.0.0.1", store: `sqlite:${kept.path}`, "drain-timeout": "0" },
		env: { SLUICE_API_KEY: kept.key, SLUICE_SECRET: env["SLUICE_SECRET"] },
		cwd: target.folder,
		readFile: () =>
			JSON.stringify({
				endpoints: { [target.endpoint]: settings },
				webhooks: { allowPrivateNetworks: true },
			}),
	});
	if (!loaded.ok)
		throw new CliError(
			loaded.problems.map((problem) => problem.replace(/^.*sluice\.yaml: /, "")).join("\n"),
		);
	return loaded.config;
}
