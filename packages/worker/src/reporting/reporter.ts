/** Reports results, chunks and progress. Retries until acknowledged or stopped (protocol B.6). */
import { waitAfter } from "../backoff.ts";
import type { Clock } from "../clock.ts";
import { createChunkQueue, type ChunkQueue } from "./chunk-queue.ts";
import { signalOf, type HeldJob } from "../held-jobs.ts";
import type { Log } from "../log.ts";
import type { ResultBody } from "./result-body.ts";
import type { PostOutcome, ResultPoster } from "./result-poster.ts";
import type { ResultBatcher } from "./result-batcher.ts";
import type { UrlTemplate } from "../url-template.ts";

/** No call rejects. */
export interface Reporter {
	/** Resolves when the body is acknowledged or refused, or the job is stopped. */
	result(job: HeldJob, body: ResultBody, isStream: boolean): Promise<void>;
	chunks(job: HeldJob): ChunkQueue;
	/** Without retries. */
	progress(job: HeldJob, body: string): Promise<void>;
	setChunkBatch(chunks: number): void;
	/** Whether the service takes jobs back (D54); false until a take says so. */
	takesReturns: boolean;
}

export interface ReporterOptions {
	results: ResultBatcher;
	outputs: ResultPoster;
	streams: ResultPoster;
	output: UrlTemplate;
	stream: UrlTemplate;
	streamBatch: UrlTemplate | undefined;
	clock: Clock;
	random: () => number;
	log: Log;
}

const RETRY = { firstMs: 200, longestMs: 5000 };

export function createReporter({
	results,
	outputs,
	streams,
	output,
	stream,
	streamBatch,
	clock,
	random,
	log,
}: ReporterOptions): Reporter {
	let batchSize = 0;
	let batchTo = streamBatch;

	/**
	 * Repeats until acknowledged, refused, or the job is stopped. Returns the last answer. `last`: a refusal is final.
	 */
	async function deliver(
		job: HeldJob,
		send: () => Promise<PostOutcome>,
		last = true,
	): Promise<PostOutcome | undefined> {
		for (let tries = 1; !job.stopped; tries += 1) {
			const outcome = await send();
			if (typeof outcome === "number") {
				if (outcome >= 200 && outcome < 300) {
					if (tries > 1) log("INFO", `The report was acknowledged after ${tries} tries.`, job.id);
					return outcome;
				}
				if (outcome < 500 && outcome !== 408 && outcome !== 429) {
					if (last) log("ERROR", `The service refused the report with HTTP ${outcome}; giving up.`, job.id);
					return outcome;
				}
			}
			if (tries === 1) {
				const reason = typeof outcome === "number" ? `HTTP ${outcome}` : outcome.message;
				log("WARN", `The report failed, retrying: ${reason}`, job.id);
			}
			await clock.sleep(waitAfter(tries, RETRY, random), signalOf(job));
		}
		return undefined;
	}

	return {
		async result(job, body, isStream) {
			await deliver(job, () => results.send(job.id, body, isStream));
		},
		chunks: (job) =>
			createChunkQueue({
				batchSize: () => (batchTo ? batchSize : 0),
				refused: () => void (batchTo = undefined),
				deliver(body, index, together) {
					const to = (together && batchTo) || stream;
					const attempt = job.attempt === undefined ? "" : `&attempt=${job.attempt}`;
					const path = to.path(job.id, `isStream=false&chunk=${index}${attempt}`);
					return deliver(job, () => streams.send(path, body), !together);
				},
			}),
		setChunkBatch: (chunks) => void (batchSize = chunks),
		takesReturns: false,
		async progress(job, body) {
			const outcome = await outputs.send(output.path(job.id, "isStream=false"), body);
			if (typeof outcome === "number" && outcome < 300) return;
			log(
				"WARN",
				`Sending progress failed: ${typeof outcome === "number" ? `HTTP ${outcome}` : outcome.message}`,
				job.id,
			);
		},
	};
}
