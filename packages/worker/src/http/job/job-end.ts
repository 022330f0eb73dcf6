/** Reports the end of each job to the program that runs the adapter, such as `sluice connect`. */
import type { Clock } from "../../clock.ts";
import { JobReturn } from "../../job-return.ts";
import type { Handler } from "../../types.ts";

export interface JobEnd {
	id: string;
	/** Time on the server and in its queue, ms. */
	ms: number;
	/** `stopped`: by the service, or by the second request to stop the worker. */
	outcome: "succeeded" | "failed" | "returned" | "stopped";
	/** Error of a job that failed, reason of one that was returned. Without credentials of the server. */
	reason: string | undefined;
}

/** `hide` removes credentials from reasons. */
export function withJobEnds(
	handler: Handler,
	{ clock, hide, onJob }: { clock: Clock; hide: (text: string) => string; onJob: (end: JobEnd) => void },
): Handler {
	return async (job, context) => {
		const startedAt = clock.now();
		const end = (outcome: JobEnd["outcome"], reason?: string): void =>
			onJob({
				id: job.id,
				ms: Math.round(clock.now() - startedAt),
				outcome: context.signal.aborted ? "stopped" : outcome,
				reason: context.signal.aborted || reason === undefined ? undefined : hide(reason),
			});
		const thrown = (error: unknown): void =>
			end(error instanceof JobReturn ? "returned" : "failed", (error as Error).message);
		try {
			const output: unknown = await handler(job, context);
			if (isStream(output)) return watched(output, { end, thrown });
			const error = errorIn(output);
			end(error === undefined ? "succeeded" : "failed", error);
			return output;
		} catch (error) {
			thrown(error);
			throw error;
		}
	};
}

/** The kit reads no more of a stream that has an error, or whose job is stopped. */
async function* watched(
	chunks: AsyncIterable<unknown>,
	{ end, thrown }: { end: (outcome: JobEnd["outcome"], reason?: string) => void; thrown: (error: unknown) => void },
): AsyncGenerator<unknown, void> {
	let failure: string | undefined;
	let report = (): void => end(failure === undefined ? "succeeded" : "failed", failure);
	try {
		for await (const chunk of chunks) {
			failure ??= errorIn(chunk);
			yield chunk;
		}
	} catch (error) {
		report = () => thrown(error);
		throw error;
	} finally {
		report();
	}
}

function isStream(output: unknown): output is AsyncIterable<unknown> {
	return typeof output === "object" && output !== null && Symbol.asyncIterator in output;
}

/** The kit's form of a failed job. */
function errorIn(output: unknown): string | undefined {
	return typeof output === "object" && output !== null && "error" in output ? String(output.error) : undefined;
}
