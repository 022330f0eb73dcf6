/** Answers of any size: counted while they wait for their client, which must read (D41). */
import { type JobResult, jobView } from "../core/job-view.ts";
import { type JsonPieces, release, sizeOf } from "../core/json/json-text.ts";
import { principalOf } from "./auth.ts";
import type { Call } from "./call.ts";
import { FREE_BYTES, hold, holdNow } from "./memory/call-memory.ts";
import { json } from "./reply.ts";

/** Time of the store and the event loop for the bytes of a large answer (D41), ms. */
const MS_PER_BYTE = 1 / 2 ** 20;

/** Sends JSON text when the caller may hold it. */
export async function answer(call: Call, text: JsonPieces, headers: readonly string[] = []): Promise<void> {
	const size = bytesIn(text);
	if (size > FREE_BYTES) {
		await hold(call, size);
		mustRead(call);
		call.turn?.charge(size * MS_PER_BYTE);
	}
	json(call.res, text, headers);
}

/** The connection is closed when nothing is read for `readTimeout`. */
export function mustRead({ res, engine }: Call): void {
	res.setTimeout(engine.budgets.readTimeout.limit);
}

/** Sends the job object with its output, which is freed then. */
export async function answerJob(call: Call, found: JobResult): Promise<void> {
	const read = withOutput(call, found);
	const whole = read instanceof Promise ? await read : read;
	if (typeof whole.output === "object") call.res.once("finish", () => release(whole.output!));
	json(call.res, jobView(whole, call.engine.now()));
}

/**
 * The job with its output when the caller may hold it, read or read again if need be. Refused, its
 * id is in `x-request-id`. Not async: a frame would keep an output in memory that has to wait.
 */
export function withOutput(call: Call, found: JobResult): JobResult | Promise<JobResult> {
	const size = outputSize(found);
	if (size <= FREE_BYTES) return found;
	mustRead(call);
	const waiting = hold(call, size);
	if (!waiting && found.outputBytes === undefined) return found;
	return readOutput(call, found, waiting);
}

async function readOutput(
	call: Call,
	{ job: { endpoint, id }, outputBytes }: Pick<JobResult, "job" | "outputBytes">,
	waiting: Promise<void> | undefined,
): Promise<JobResult> {
	if (waiting) {
		const named = call.res.hasHeader("x-request-id");
		if (!named) call.res.setHeader("x-request-id", id);
		await waiting;
		if (!named) call.res.removeHeader("x-request-id");
	}
	if (!call.turn && outputBytes !== undefined)
		await call.pace.spend(principalOf(call).keyId, outputBytes * MS_PER_BYTE, call.caller);
	const read = await call.engine.jobs.result({ endpoint, id });
	holdNow(call, outputSize(read));
	return read;
}

/** Bytes of an output, read or not. */
export function outputSize({ output, outputBytes }: JobResult): number {
	return outputBytes ?? (output === undefined ? 0 : sizeOf(output));
}

function bytesIn(text: JsonPieces): number {
	return typeof text === "string" ? text.length : text.reduce((sum, piece) => sum + piece.length, 0);
}
