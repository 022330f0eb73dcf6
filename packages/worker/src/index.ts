/**
 * `sluice/worker`: worker kit for TypeScript and JavaScript. It uses the protocol and environment
 * variables of RunPod's Python SDK, so a worker runs unchanged on Sluice and RunPod.
 *
 * ```ts
 * import { start, type Handler } from "sluice/worker";
 *
 * const handler: Handler<{ words: string[] }> = async function* (job, { signal, progress }) {
 *   await progress({ total: job.input.words.length });
 *   for (const word of job.input.words) {
 *     signal.throwIfAborted();
 *     yield word.toUpperCase();
 *   }
 * };
 * await start({ handler, concurrency: 4 });
 * ```
 *
 * Without RUNPOD_WEBHOOK_GET_JOB it runs once on `--test_input '{"input": {...}}'` or
 * `test_input.json` and prints the result.
 */
import "./node-version.ts";
import { systemClock } from "./clock.ts";
import type { StartOptions } from "./types.ts";
import { runWorker } from "./worker.ts";

export type { Context, Files, Handler, Job, LogLevel, StartOptions, StoredFile } from "./types.ts";
export { JobReturn } from "./job-return.ts";
export { rawJson, RawJson } from "./raw-json.ts";

/**
 * Runs a worker until it has stopped. SIGTERM, SIGINT and `options.signal` stop it gracefully after the running
 * jobs. A second request aborts their signals and reports nothing more, a third kills the process. A handler that
 * never returns prevents the end. Rejects with an Error for an invalid setting, or with neither a service nor a test
 * input.
 */
export function start<Input = any, Output = any>(options: StartOptions<Input, Output>): Promise<void> {
	return runWorker(options, {
		clock: systemClock,
		random: Math.random,
		argv: process.argv.slice(2),
		cwd: process.cwd(),
		write: (line) => void process.stdout.write(line),
		fail: () => {
			process.exitCode = 1;
		},
	});
}
