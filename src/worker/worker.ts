/** Puts a worker together and runs it to its end: pings, takes, stops, reports, shutdown. */
import type { Clock } from "./clock.ts";
import { createHeldJobs } from "./held-jobs.ts";
import { newHeldTable } from "./pings/held-table.ts";
import { runLocally } from "./local-run.ts";
import { createLog } from "./log.ts";
import { startPinger } from "./pings/pinger.ts";
import { openPoll } from "./polling/poll.ts";
import { openResultPoster } from "./reporting/result-poster.ts";
import { createReporter } from "./reporting/reporter.ts";
import { openResults } from "./reporting/result-batcher.ts";
import { createRunner } from "./run-job.ts";
import { readLogSettings, readSettings, requestHeaders, type Settings } from "./settings.ts";
import { stopLoop } from "./polling/stop-loop.ts";
import { takeLoop } from "./polling/take-loop.ts";
import type { StartOptions } from "./types.ts";

/** What a worker takes from the machine it runs on. */
export interface Surroundings {
	clock: Clock;
	/** A number from 0 to below 1. */
	random: () => number;
	/** Arguments of the program, for a local run. */
	argv: readonly string[];
	cwd: string;
	/** Receives lines for standard output. */
	write: (line: string) => void;
	/** Makes the process end with failure once it ends, after a local run that failed. */
	fail: () => void;
}

/** A poll is cut after this (protocol B.3). */
const POLL_CUT_MS = 90_000;
/** A report without an answer for this long is sent again. */
const POST_TIMEOUT_MS = 60_000;
/** How long an answer that crosses our goodbye may take. */
const HANG_UP_MS = 1000;

/**
 * `start` with its surroundings named. Resolves when the worker has stopped; rejects when its
 * settings are wrong.
 */
export async function runWorker(options: StartOptions, surroundings: Surroundings): Promise<void> {
	const { argv, cwd, write, fail } = surroundings;
	if (typeof options.handler !== "function")
		throw new TypeError("start needs a function as its option `handler`.");
	if (
		typeof options.concurrency === "number" &&
		!(Number.isSafeInteger(options.concurrency) && options.concurrency > 0)
	) {
		throw new RangeError(
			`The option \`concurrency\` must be an integer of at least 1, or a function; it is ${options.concurrency}.`,
		);
	}
	const env = options.env ?? process.env;
	const settings = readSettings(env);
	if (settings) return await serve(options, settings, surroundings);
	if (
		!(await runLocally({ options, argv, cwd, write, log: createLog(readLogSettings(env), write) }))
	)
		fail();
}

async function serve(
	options: StartOptions,
	settings: Settings,
	{ clock, random, write }: Surroundings,
): Promise<void> {
	const log = createLog(settings.log, write);
	const headers = requestHeaders(settings.key);
	const table = newHeldTable();
	const { pingUrl, key, pingIntervalMs } = settings;
	const pinger =
		pingUrl && key
			? startPinger({ url: pingUrl, key, intervalMs: pingIntervalMs, table, clock, log })
			: undefined;
	if (!pinger)
		log("WARN", "No pings: they need RUNPOD_WEBHOOK_PING, RUNPOD_POD_ID and RUNPOD_AI_API_KEY.");
	const held = createHeldJobs(table, (ids) => pinger?.overflow(ids));
	await pinger?.ready;

	const { output, stream } = settings;
	const outputs = openResultPoster({ origin: output.origin, headers, timeoutMs: POST_TIMEOUT_MS });
	const streams =
		stream.origin === output.origin
			? outputs
			: openResultPoster({ origin: stream.origin, headers, timeoutMs: POST_TIMEOUT_MS });
	const results = openResults({ posts: outputs, output, batchPath: settings.outputBatchPath });
	const report = createReporter({ results, outputs, streams, output, stream, clock, random, log });
	const openHere = () =>
		openPoll({ origin: settings.takeOrigin, headers, cutMs: POLL_CUT_MS, clock });
	const takes = openHere();
	const stops = openHere();

	const stopping = new AbortController();
	const hungUp: Promise<void>[] = [];
	const stop = () => {
		if (stopping.signal.aborted) return;
		stopping.abort();
		hungUp.push(takes.hangUp(HANG_UP_MS));
	};
	const release = onStopRequests(options.signal, {
		first: (reason) => {
			log("INFO", `${reason}: no more jobs are taken; ${held.size} in hand are finished.`);
			stop();
		},
		second: (reason) => {
			log("WARN", `${reason} again: ${held.size} jobs in hand are aborted.`);
			held.stopAll();
			void outputs.close();
			void streams.close();
		},
	});

	const runner = createRunner({
		handler: options.handler,
		aggregate: options.aggregate ?? false,
		stopPod: options.refreshWorker ?? false,
		identity: { workerId: settings.workerId, hostname: settings.hostname },
		held,
		report: options.refreshWorker
			? {
					...report,
					result: async (...args) => {
						await report.result(...args);
						stop();
					},
				}
			: report,
		log,
	});
	const ended = new AbortController();
	const listening =
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
		together: results.together,
		clock,
		random,
		log,
		stopping: stopping.signal,
	});
	await held.idle();
	ended.abort();
	await Promise.all([listening, stops.hangUp(0), ...hungUp, pinger?.stop()]);
	await Promise.all([outputs.close(), streams.close()]);
	release();
}

/**
 * Calls `first` and `second` for SIGTERM, SIGINT and the given signal; the third request ends the
 * process as if nobody listened. Returns how to stop listening.
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
