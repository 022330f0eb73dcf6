/** Runs the handler on a job and reports the outcome (protocol B.5). */
import { inspect } from "node:util";
import { signalOf, type HeldJob, type HeldJobs } from "./held-jobs.ts";
import { isJobReturn } from "./job-return.ts";
import type { Log } from "./log.ts";
import type { Reporter } from "./reporting/reporter.ts";
import {
	chunkBody,
	errorBody,
	itemError,
	jsonText,
	outputBody,
	progressBody,
	resultBody,
	returnBody,
	thrownText,
	type Identity,
	type ResultBody,
} from "./reporting/result-body.ts";
import { StreamOutput } from "./stream-output.ts";
import type { Context, Files, Handler, Job } from "./types.ts";

export interface RunnerOptions {
	handler: Handler;
	aggregate: boolean;
	stopPod: boolean;
	identity: Identity;
	held: HeldJobs;
	report: Reporter;
	log: Log;
	files: (job: Job, signal: () => AbortSignal) => Files;
}

/** Runs one job until its report is acknowledged. Never rejects. */
export function createRunner({ handler, aggregate, stopPod, identity, held, report, log, files }: RunnerOptions) {
	function contextOf(job: Job, entry: HeldJob): Context {
		return {
			get signal() {
				return signalOf(entry);
			},
			workerId: identity.workerId,
			progress: (value) => sendProgress(entry, value),
			log: (message, level = "INFO") => log(level, message, entry.id),
			get files() {
				return files(job, () => signalOf(entry));
			},
		};
	}

	async function sendProgress(entry: HeldJob, value: unknown): Promise<void> {
		if (entry.stopped || !entry.running) return;
		let body: string;
		try {
			body = progressBody(value);
		} catch (error) {
			log("WARN", `Progress was not sent. ${(error as Error).message}`, entry.id);
			return;
		}
		await report.progress(entry, body);
	}

	async function stream(entry: HeldJob, items: AsyncIterable<unknown> | Iterable<unknown>): Promise<string> {
		const texts: string[] = [];
		let output: string | undefined;
		const chunks = report.chunks(entry);
		try {
			for await (const item of items) {
				if (entry.stopped) break;
				const error = itemError(item);
				if (error !== undefined) return errorBody(error, stopPod);
				if (item instanceof StreamOutput) {
					output = item.text;
					continue;
				}
				const text = jsonText(item ?? null);
				if (aggregate) texts.push(text);
				await chunks.add(chunkBody(text));
				if (entry.stopped) break;
			}
			return outputBody(output ?? `[${texts.join(",")}]`, stopPod);
		} finally {
			// Also the chunks of a generator that failed.
			await chunks.end();
		}
	}

	let isWarned = false;
	function warnOfReturns(): void {
		if (isWarned) return;
		isWarned = true;
		log("WARN", "The service does not take jobs back: jobs that the handler returns fail instead.");
	}

	return async function run(job: Job, entry: HeldJob): Promise<void> {
		let isStream = false;
		let body: ResultBody;
		log("DEBUG", "Started.", entry.id);
		try {
			const value: unknown = await handler(job, contextOf(job, entry));
			isStream = isGenerator(value);
			body = isGenerator(value) ? await stream(entry, value) : resultBody(value, stopPod);
		} catch (thrown) {
			const error = thrownText(thrown, identity);
			if (isJobReturn(thrown) && report.takesReturns) {
				entry.returned = true;
				log("INFO", `Returning the job to the queue: ${thrown.message}`, entry.id);
				body = returnBody(thrown, { attempt: entry.attempt, error, stopPod });
			} else {
				if (!entry.stopped) log("ERROR", `The handler failed: ${inspect(thrown)}`, entry.id);
				if (isJobReturn(thrown)) warnOfReturns();
				body = errorBody(error, stopPod);
			}
		}
		held.ran(entry);
		await report.result(entry, body, isStream);
		log("DEBUG", entry.stopped ? "Stopped." : "Finished.", entry.id);
		held.remove(entry);
	};
}

/** Async iterables and sync generators are streamed. Lists and strings are plain values. */
export function isGenerator(value: unknown): value is AsyncIterable<unknown> | Iterable<unknown> {
	if (typeof value !== "object" || value === null) return false;
	if (Symbol.asyncIterator in value) return true;
	return Symbol.iterator in value && "next" in value && typeof value.next === "function";
}
