/** The handler that the kit calls for each job. */
import type { Handler } from "../types.ts";
import { JobFailure } from "./job-failure.ts";
import { type JobHandlerOptions, type JobOutput, JobSession } from "./job-session.ts";

/** Throws `JobReturn` for jobs that the server did not end, and after a stop of the job any error. */
export function createJobHandler(options: JobHandlerOptions): Handler {
	let running = 0;
	return async (job, context) => {
		running += 1;
		const session = new JobSession({ ...options, job, context, isAlone: () => running === 1 });
		const end = async (): Promise<void> => {
			await session.end();
			running -= 1;
		};
		let output: JobOutput;
		try {
			output = await session.run();
		} catch (error) {
			await end();
			return failed(error);
		}
		if (Symbol.asyncIterator in output) return streamed(output, session, end);
		await end();
		return output;
	};
}

async function* streamed(
	chunks: AsyncIterable<unknown>,
	session: JobSession,
	end: () => Promise<void>,
): AsyncGenerator<unknown, void> {
	try {
		yield* chunks;
	} catch (error) {
		yield failed(await session.failure(error));
	} finally {
		await end();
	}
}

/** The kit's form of a failed job. Throws all other errors. */
function failed(error: unknown): { error: string } {
	if (error instanceof JobFailure) return { error: error.message };
	throw error;
}
