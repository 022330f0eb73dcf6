/** The handler that the kit calls for each job. */
import { JobReturn } from "../job-return.ts";
import type { Context, Handler } from "../types.ts";
import { hideCredentials } from "./credentials.ts";
import { JobFailure } from "./job-failure.ts";
import { type JobHandlerOptions, type JobOutput, JobSession } from "./job-session.ts";

/** Throws {@link JobReturn} for jobs that the server did not end, and after a stop of the job any error. */
export function createJobHandler(options: JobHandlerOptions): Handler {
	const hide = hideCredentials(options.mapping, options.env);
	let running = 0;
	return async (job, given) => {
		running += 1;
		const context: Context = { ...given, log: (message, level) => given.log(hide(message), level) };
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
			return failed(error, hide);
		}
		if (Symbol.asyncIterator in output) return streamed(output, session, { end, hide });
		await end();
		return output;
	};
}

async function* streamed(
	chunks: AsyncIterable<unknown>,
	session: JobSession,
	{ end, hide }: { end: () => Promise<void>; hide: Hide },
): AsyncGenerator<unknown, void> {
	try {
		yield* chunks;
	} catch (error) {
		yield failed(await session.failure(error), hide);
	} finally {
		await end();
	}
}

type Hide = (text: string) => string;

/** The kit's form of a failed job. Throws all other errors. */
function failed(error: unknown, hide: Hide): { error: string } {
	// The kit takes an empty error for none.
	if (error instanceof JobFailure) return { error: hide(error.message) || "The server failed the job." };
	if (error instanceof JobReturn) throw new JobReturn(hide(error.message), { loss: error.loss });
	throw error;
}
