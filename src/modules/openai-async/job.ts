/** One request of a batch as a job (D57): submitted once, however often the service starts, and followed to its end. */
import { isFinal } from "../../kernel/core/jobs/job-states.ts";
import type { JobResult } from "../../kernel/core/jobs/job-view.ts";
import { ApiError } from "../../kernel/core/errors.ts";
import type { JsonText } from "../../kernel/lib/json/json-text.ts";
import { hashOf } from "../../kernel/http/exchange/idempotency.ts";
import { inSlices } from "../../kernel/http/exchange/reply.ts";
import type { Caller } from "../../kernel/engine/jobs/wait.ts";
import type { Kernel } from "../../kernel/module.ts";
import { resultOfChunks } from "../openai/chunks.ts";
import { openaiInput, singleResult } from "../openai/translation.ts";

/** Time after which a wait for the end of a job reads the store again, ms. */
const CHECK_MS = 60_000;
const AGAIN_MS = 500;

/** A job may wait as long as `policy.ttl` allows (D15), ms. */
const TTL = { least: 10_000, most: 604_800_000 };

/** Results are kept until they are in a file; records an hour. */
const KEPT = { retainMs: 8 * 86_400_000, recordMs: 3_600_000 };

/** Bytes that one read of chunks may have. */
const READ_BYTES = 2 ** 20;

export interface RequestJob {
	batch: string;
	endpoint: string;
	line: number;
	path: string;
	body: JsonText;
	/** The job clock, ms. */
	expiresAt: number;
}

type Context = Pick<Kernel, "clock" | "endpoints" | "jobs" | "now">;

/**
 * Stores the job of a line, or finds that of an earlier try. `stored` is called with its id. Resolves with the job when
 * it has ended, or as it is when the signal is aborted. Undefined: it was removed. Throws as a submission does.
 */
export async function runRequest(
	{ clock, endpoints, jobs, now }: Context,
	q: RequestJob,
	{ signal, stored }: { signal: AbortSignal; stored: (job: string) => void },
): Promise<JobResult | undefined> {
	const endpoint = endpoints.get(q.endpoint);
	const { caller, release } = callerUntil(signal);
	try {
		const found = await jobs.submitAndWait(
			{
				id: jobs.newId("openai"),
				endpoint,
				operation: "openai",
				options: { lowPriority: true, s3Config: false, ttlMs: within(q.expiresAt - now()) },
				input: openaiInput(q.path, q.body),
				kept: KEPT,
				idempotency: { key: keyOf(q), bodyHash: hashOf(q.body) },
				stored: (job) => job !== undefined && stored(job),
			},
			{ ms: CHECK_MS, caller },
		);
		if (isFinal(found.job.state)) return found;
		return await endOf({ clock, jobs }, { endpoint: q.endpoint, id: found.job.id }, signal);
	} catch (error) {
		if (error instanceof ApiError && error.code === "idempotency_expired") return undefined;
		throw error;
	} finally {
		release();
	}
}

/** Follows a job that is stored. Resolves as {@link runRequest} does. */
export async function endOf(
	{ clock, jobs }: Pick<Context, "clock" | "jobs">,
	job: { endpoint: string; id: string },
	signal: AbortSignal,
): Promise<JobResult | undefined> {
	const { caller, release } = callerUntil(signal);
	try {
		for (;;) {
			const found = await jobs.statusSync({ ...job, ms: CHECK_MS, caller });
			if (isFinal(found.job.state) || signal.aborted) return found;
			// All waits end at once while the service stops.
			await clock.sleep(AGAIN_MS, signal);
		}
	} catch (error) {
		if (error instanceof ApiError && error.code === "job_not_found") return undefined;
		throw error;
	} finally {
		release();
	}
}

/** Returns the answer of a completed job: its result without the list of one, or its chunks. Reads a large one. */
export async function answerOf({ jobs }: Pick<Context, "jobs">, found: JobResult): Promise<JsonText | undefined> {
	const { endpoint, id } = found.job;
	const { output } =
		found.outputBytes === undefined ? found : await jobs.status({ endpoint, id, output: () => Promise.resolve() });
	const caller = { disconnected: false };
	return (
		(await inSlices(singleResult(output))) ??
		(await resultOfChunks((from) =>
			jobs.streamFrom({ endpoint, id, from, waitMs: 0, caller, bounded: (read) => read(READ_BYTES) }),
		)) ??
		(output === undefined ? undefined : "[]")
	);
}

/** A caller that waits until the signal is aborted. `release` must be called. */
function callerUntil(signal: AbortSignal): { caller: Caller; release: () => void } {
	const caller: Caller = { disconnected: signal.aborted };
	const leave = (): void => {
		caller.disconnected = true;
		caller.onDisconnect?.();
	};
	signal.addEventListener("abort", leave);
	return { caller, release: () => signal.removeEventListener("abort", leave) };
}

const within = (ms: number): number => Math.max(TTL.least, Math.min(ms, TTL.most));

/** No header of a client may contain the first character. */
const keyOf = ({ batch, line }: RequestJob): string => `\u0001${batch}:${line}`;
