/** Requests of a batch that are jobs now (D57). */
import { ApiError } from "../../kernel/core/errors.ts";
import { isFinal } from "../../kernel/core/jobs/job-states.ts";
import { type JobResult, outputSize } from "../../kernel/core/jobs/job-view.ts";
import { release, sizeOf } from "../../kernel/lib/json/json-text.ts";
import { type Batch, type RunContext, Superseded } from "./batch.ts";
import { endOf, runRequest } from "./job.ts";
import type { BatchRequest } from "./lines.ts";
import { openLine, type OpenLine, type Place } from "./progress.ts";

/** A request whose job has ended; `found` is undefined if the job was removed. */
export interface FreshLine extends OpenLine {
	found: JobResult | undefined;
}

interface FollowedRequest extends Place {
	customId: string;
	job?: string;
	/** Size of the request, until its job is stored. */
	bytes: number;
}

export type Submissions = ReturnType<typeof submissions>;

/** `wake` is called when there is something new. All requests are followed until the signal is aborted. */
export function submissions(
	{ kernel, shared }: RunContext,
	batch: Batch,
	{ signal, wake }: { signal: AbortSignal; wake: () => void },
) {
	const { id, endpoint } = batch.row;
	const requests = new Map<number, FollowedRequest>();
	const tasks = new Set<Promise<void>>();
	let fresh: FreshLine[] = [];
	let refused: Place[] = [];
	let refusal: ApiError | undefined;
	let failure: unknown;
	let storedCount = 0;

	/** The store has the request, or refused it. */
	function leaveMemory(request: FollowedRequest): void {
		shared.unstoredBytes -= request.bytes;
		request.bytes = 0;
	}

	/** After a failure the request stays, so that each further version of the row has it. */
	function rejected(request: FollowedRequest, error: unknown): void {
		if (!(error instanceof ApiError) || request.job !== undefined) failure ??= error;
		else if (error.code === "endpoint_not_found") failure ??= new Superseded();
		else {
			requests.delete(request.line);
			refused.push({ line: request.line, byte: request.byte });
			refusal = error;
		}
	}

	function follow(request: FollowedRequest, end: Promise<JobResult | undefined>): void {
		requests.set(request.line, request);
		const task = end
			.then(
				(found) => {
					// This server stops: the next one follows it.
					if (found && !isFinal(found.job.state)) return;
					const { line, byte, customId, job = found?.job.id ?? "" } = request;
					// In the same turn: a version of the row has each request in one of the two.
					requests.delete(line);
					fresh.push({ line, byte, customId, job, found: found && withoutLarge(found) });
				},
				(error: unknown) => rejected(request, error),
			)
			.then(() => {
				leaveMemory(request);
				tasks.delete(task);
				wake();
			});
		tasks.add(task);
	}

	const cancel = (only: (state: string) => boolean): Promise<void> => cancelJobs(kernel, endpoint, requests, only);

	return {
		get count(): number {
			return requests.size;
		},
		/** Whether there is something to take. */
		get hasEnded(): boolean {
			return fresh.length > 0 || refused.length > 0 || failure !== undefined;
		},
		/** Jobs that were stored since the run began. */
		get stored(): number {
			return storedCount;
		},
		start({ line, byte }: Place, { customId, body }: BatchRequest): void {
			const { path, expiresAt } = batch.progress;
			const request: FollowedRequest = { line, byte, customId, bytes: sizeOf(body) };
			shared.unstoredBytes += request.bytes;
			const stored = (job: string): void => {
				request.job = job;
				leaveMemory(request);
				storedCount += 1;
				wake();
			};
			const q = { batch: id, endpoint, line, path, body, expiresAt };
			follow(request, runRequest(kernel, q, { signal, stored }));
		},
		resume({ line, byte, customId, job }: OpenLine): void {
			const request: FollowedRequest = { line, byte, customId, job, bytes: 0 };
			follow(request, endOf(kernel, { endpoint, id: job }, signal));
		},
		/** Takes what has ended since the last call. Throws the first failure. */
		ended(): FreshLine[] {
			if (failure !== undefined) throw failure;
			const taken = fresh;
			fresh = [];
			return taken;
		},
		/** Takes the requests that were refused, and why the last one was. */
		refused(): { places: Place[]; refusal: ApiError | undefined } {
			const places = refused.toSorted((a, b) => a.line - b.line);
			refused = [];
			return { places, refusal };
		},
		/** Those whose jobs are stored, also if they have ended and were not taken. */
		open(): OpenLine[] {
			const running = [...requests.values()].flatMap(({ line, byte, customId, job }) =>
				job === undefined ? [] : [{ line, byte, customId, job }],
			);
			return [...running, ...fresh.map(openLine)];
		},
		/** The first request whose job may be stored or not. */
		firstUnsure(): Place | undefined {
			const places = [...requests.values()].filter(({ job }) => job === undefined);
			return places.toSorted((a, b) => a.line - b.line)[0];
		},
		/** Places of requests that were refused and not taken. */
		get waiting(): readonly Place[] {
			return refused;
		},
		cancelWaiting: () => cancel((state) => state === "IN_QUEUE"),
		cancelAll: () => cancel(() => true),
		/** Resolves when none is followed any more. */
		settled: () => Promise.all(tasks),
	};
}

/** Also the jobs of requests that are stored meanwhile. */
async function cancelJobs(
	kernel: RunContext["kernel"],
	endpoint: string,
	requests: ReadonlyMap<number, FollowedRequest>,
	only: (state: string) => boolean,
): Promise<void> {
	for (const { job } of requests.values()) {
		if (job === undefined) continue;
		try {
			const { state } = (await kernel.jobs.status({ endpoint, id: job })).job;
			if (only(state)) await kernel.jobs.cancel({ endpoint, id: job });
		} catch (error) {
			if (!(error instanceof ApiError)) throw error;
		}
	}
}

/** A large output is read again when it is written into a file. */
function withoutLarge(found: JobResult): JobResult {
	const { output, ...rest } = found;
	if (output === undefined || typeof output === "string") return found;
	const outputBytes = outputSize(found);
	release(output);
	return { ...rest, outputBytes };
}
