/** The handler that the kit calls for each job. */
import { JobReturn } from "../../job-return.ts";
import type { Context, Handler } from "../../types.ts";
import { JobFailure } from "../job-failure.ts";
import { type Hide, hideCredentials } from "../mapping/credentials.ts";
import { isObject } from "../mapping/mapping-reader.ts";
import { type JobMapping, mappingOfJob } from "../openai.ts";
import { type JobOutput, JobSession, type SessionOptions } from "./job-session.ts";

/** `mapping`: that of the endpoint. */
export type JobHandlerOptions = Omit<SessionOptions, "job" | "context" | "isAlone" | "openai" | "hide">;

/** Throws {@link JobReturn} for jobs that the server did not end, and after a stop of the job any error. */
export function createJobHandler(options: JobHandlerOptions): Handler {
	const hide = hideCredentials(options.mapping, options.env);
	let running = 0;
	return async (job, given) => {
		const context: Context = { ...given, log: (message, level) => given.log(hide(message), level) };
		let forJob: JobMapping;
		try {
			forJob = mappingOfJob(options.mapping, job);
		} catch (error) {
			return failed(error, hide);
		}
		running += 1;
		const session = new JobSession({ ...options, ...forJob, context, hide, isAlone: () => running === 1 });
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

/** Characters of an error: room for our own words and 4 KB of the server's. */
const MAX_ERROR = 4608;

/** The kit's form of a failed job, cut when the credentials are hidden. Throws all other errors. */
function failed(error: unknown, hide: Hide): { error: string } {
	if (error instanceof JobFailure) {
		const whole = hide(error.message);
		// toWellFormed: the cut may split a pair of surrogates.
		const text = whole.length <= MAX_ERROR ? whole : `${whole.slice(0, MAX_ERROR).toWellFormed()}...`;
		// The kit takes an empty error for none.
		if (text === "") return { error: "The server failed the job." };
		return { error: isEvent(text) ? `The server failed the job: ${text}` : text };
	}
	if (error instanceof JobReturn) throw new JobReturn(hide(error.message), { loss: error.loss });
	throw error;
}

/** Whether the service would read an error, which may be the server's own text, as an event of the worker's start. */
function isEvent(text: string): boolean {
	if (!text.startsWith("{")) return false;
	try {
		const value: unknown = JSON.parse(text);
		return isObject(value) && "event" in value;
	} catch {
		return false;
	}
}
