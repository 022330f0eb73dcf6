/** Connects the parts of a worker and runs it until shutdown. */
import { calendarTime, type Clock } from "./clock.ts";
import { jobFiles } from "./files/put-file.ts";
import { createHeldJobs } from "./held-jobs.ts";
import { newHeldTable } from "./pings/held-table.ts";
import { runLocally } from "./local-run.ts";
import { createLog } from "./log.ts";
import { startPinger } from "./pings/pinger.ts";
import { openPoll } from "./polling/poll.ts";
import { openResultPoster } from "./reporting/result-poster.ts";
import { createReporter } from "./reporting/reporter.ts";
import { openResultBatcher } from "./reporting/result-batcher.ts";
import { createRunner, type RunnerOptions } from "./run-job.ts";
import { readLogSettings, readSettings, requestHeaders, type Settings } from "./settings.ts";
import { stopLoop } from "./polling/stop-loop.ts";
import { takeLoop } from "./polling/take-loop.ts";
import type { StartOptions } from "./types.ts";

export interface Environment {
	clock: Clock;
	/** In [0, 1). */
	random: () => number;
	argv: readonly string[];
	cwd: string;
	write: (line: string) => void;
	fail: () => void;
}

/** Maximum time of a poll (protocol B.3), ms. */
const POLL_TIMEOUT_MS = 90_000;
/** An unanswered report is retried after this, ms. */
const POST_TIMEOUT_MS = 60_000;
/** Asks for the number of the run and of the attempt (D55). Services that do not know it ignore it. */
const ASKS_FOR_RUN = ["sluice-run", "1"];
/** Maximum wait at shutdown for an answer in flight, ms. */
const HANG_UP_MS = 1000;

export async function runWorker(options: StartOptions, environment: Environment): Promise<void> {
	const { argv, cwd, write, fail, clock, random } = environment;
	if (typeof options.handler !== "function") throw new TypeError("start() needs a function as its option `handler`.");
	if (
		typeof options.concurrency === "number" &&
		!(Number.isSafeInteger(options.concurrency) && options.concurrency > 0)
	) {
		throw new RangeError(
			`The option \`concurrency\` must be an integer of at least 1, or a function; it is ${options.concurrency}.`,
		);
	}
	const env = options.env ?? process.env;
	const files: RunnerOptions["files"] = (job, signal) =>
		jobFiles({ job, env, clock, random, date: calendarTime, signal });
	const settings = readSettings(env);
	if (settings) return await serve({ ...options, files }, settings, environment);
	if (!(await runLocally({ options, argv, cwd, write, files, log: createLog(readLogSettings(env), write) }))) fail();
}

async function serve(
	options: StartOptions & Pick<RunnerOptions, "files">,
	settings: Settings,
	{ clock, random, write }: Environment,
): Promise<void> {
	const log = createLog(settings.log, write);
	const headers = requestHeaders(settings.key);
	const table = newHeldTable();
	const { pingUrl, key, pingIntervalMs } = settings;
	const pinger =
		pingUrl && key ? startPinger({ url: pingUrl, key, intervalMs: pingIntervalMs, table, clock, log }) : undefined;
	if (!pinger) log("WARN", "No pings: they need RUNPOD_WEBHOOK_PING, RUNPOD_POD_ID and RUNPOD_AI_API_KEY.");
	const held = createHeldJobs(table, (ids) => pinger?.overflow(ids));
	await pinger?.ready;

	const { output, stream, streamBatch } = settings;
	const outputs = openResultPoster({ origin: output.origin, headers, timeoutMs: POST_TIMEOUT_MS });
	const streams =
		stream.origin === output.origin
			? outputs
			: openResultPoster({ origin: stream.origin, headers, timeoutMs: POST_TIMEOUT_MS });
	const results = openResultBatcher({
		posts: outputs,
		output,
		batchPath: settings.outputBatchPath,
	});
	const report = createReporter({
		results,
		outputs,
		streams,
		output,
		stream,
		streamBatch,
		clock,
		random,
		log,
	});
	const open = (more: readonly string[] = []) =>
		openPoll({ origin: settings.takeOrigin, headers: [...headers, ...more], timeoutMs: POLL_TIMEOUT_MS, clock });
	const takes = open(ASKS_FOR_RUN);
	const stops = open();

	const stopping = new AbortController();
	const hungUp: Promise<void>[] = [];
	const stop = () => {
		if (stopping.signal.aborted) return;
		stopping.abort();
		hungUp.push(takes.hangUp(HANG_UP_MS));
	};
	const release = onStopRequests(options.signal, {
		first: (reason) => {
			log("INFO", `${reason}: taking no more jobs; finishing ${held.size} running jobs.`);
			stop();
		},
		second: (reason) => {
			log("WARN", `${reason} again: aborting ${held.size} jobs.`);
			held.stopAll();
			void outputs.close();
			void streams.close();
		},
	});

	if (options.refreshWorker) {
		const { result } = report;
		report.result = async (...args) => {
			await result(...args);
			stop();
		};
	}
	const runner = createRunner({
		handler: options.handler,
		aggregate: options.aggregate ?? false,
		stopPod: options.refreshWorker ?? false,
		identity: { workerId: settings.workerId, hostname: settings.hostname },
		held,
		report,
		log,
		files: options.files,
	});
	const ended = new AbortController();
	const stopLoopDone =
		settings.stopPath === undefined
			? Promise.resolve()
			: stopLoop({
					poll: stops,
					path: settings.stopPath,
					held,
					clock,
					random,
					log,
					ended: ended.signal,
				});
	await takeLoop({
		poll: takes,
		path: (batch, busy) => settings.takePath(batch, busy),
		held,
		concurrency: options.concurrency ?? 1,
		run: (job, entry) => void runner(job, entry),
		onBatchSize: results.setBatchSize,
		onChunkBatch: report.setChunkBatch,
		onReturns: (taken) => void (report.takesReturns = taken),
		clock,
		random,
		log,
		stopping: stopping.signal,
	});
	await held.idle();
	ended.abort();
	await Promise.all([stopLoopDone, stops.hangUp(0), ...hungUp, pinger?.stop()]);
	await Promise.all([outputs.close(), streams.close()]);
	release();
}

/**
 * Calls `first`, then `second`, on SIGTERM, SIGINT or abort. Later signals have their default effect. Returns a
 * function that stops listening.
 */
function onStopRequests(
	signal: AbortSignal | undefined,
	{ first, second }: { first: (reason: string) => void; second: (reason: string) => void },
): () => void {
	let requests = 0;
	const request = (reason: string) => {
		requests += 1;
		if (requests === 1) return first(reason);
		second(reason);
		release();
	};
	const onAbort = () => request("The stop signal aborted");
	const release = () => {
		process.off("SIGTERM", request);
		process.off("SIGINT", request);
		signal?.removeEventListener("abort", onAbort);
	};
	process.on("SIGTERM", request);
	process.on("SIGINT", request);
	signal?.addEventListener("abort", onAbort);
	if (signal?.aborted) onAbort();
	return release;
}
