/**
 * Brings reports to the service: repeated until acknowledged, in order, and never after a stop
 * (protocol B.6).
 */
import { waitAfter } from "../backoff.ts";
import type { Clock } from "../clock.ts";
import { signalOf, type HeldJob } from "../held-jobs.ts";
import type { Log } from "../log.ts";
import type { PostOutcome, ResultPoster } from "./result-poster.ts";
import type { Results } from "./result-batcher.ts";
import type { UrlTemplate } from "../url-template.ts";

/** Reports of jobs in hand. All resolve; none rejects. */
export interface Reporter {
	/**
	 * Posts the final body. Resolves when it is acknowledged, refused for good, or pointless because
	 * the job was stopped.
	 */
	result(job: HeldJob, body: string, isStream: boolean): Promise<void>;
	/**
	 * Posts chunk number `index` of this attempt, from 0. Resolves like {@link Reporter.result}; the
	 * next chunk may follow then.
	 */
	chunk(job: HeldJob, body: string, index: number): Promise<void>;
	/** Posts progress once, without repeating. */
	progress(job: HeldJob, body: string): Promise<void>;
}

/**
 * What {@link createReporter} needs: where to post, and the templates for progress and job-stream.
 */
export interface ReporterOptions {
	results: Results;
	outputs: ResultPoster;
	streams: ResultPoster;
	output: UrlTemplate;
	stream: UrlTemplate;
	clock: Clock;
	random: () => number;
	log: Log;
}

const REPEAT = { firstMs: 200, longestMs: 5000 };

/** Makes a reporter. */
export function createReporter({
	results,
	outputs,
	streams,
	output,
	stream,
	clock,
	random,
	log,
}: ReporterOptions): Reporter {
	async function deliver(job: HeldJob, send: () => Promise<PostOutcome>): Promise<void> {
		for (let tries = 1; !job.stopped; tries += 1) {
			const outcome = await send();
			if (typeof outcome === "number") {
				if (outcome >= 200 && outcome < 300) {
					if (tries > 1) log("INFO", `The report was acknowledged at try ${tries}.`, job.id);
					return;
				}
				if (outcome < 500 && outcome !== 408 && outcome !== 429) {
					log(
						"ERROR",
						`The service refused the report with HTTP ${outcome}; it is given up.`,
						job.id,
					);
					return;
				}
			}
			if (tries === 1) {
				const reason = typeof outcome === "number" ? `HTTP ${outcome}` : outcome.message;
				log("WARN", `The report did not get through and is repeated: ${reason}`, job.id);
			}
			await clock.sleep(waitAfter(tries, REPEAT, random), signalOf(job));
		}
	}

	return {
		result: (job, body, isStream) => deliver(job, () => results.send(job.id, body, isStream)),
		chunk: (job, body, index) =>
			deliver(job, () => streams.send(stream.path(job.id, `isStream=false&chunk=${index}`), body)),
		async progress(job, body) {
			const outcome = await outputs.send(output.path(job.id, "isStream=false"), body);
			if (typeof outcome === "number" && outcome < 300) return;
			log(
				"WARN",
				`Progress did not get through: ${typeof outcome === "number" ? `HTTP ${outcome}` : outcome.message}`,
				job.id,
			);
		},
	};
}
