/** Answers of any size: counted while they wait for their client, which must read (D41). */
import { type AdmitOutput, type JobResult, jobView, outputSize } from "../core/job-view.ts";
import { type JsonPieces, release } from "../core/json/json-text.ts";
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
		call.holds.turn?.charge(size * MS_PER_BYTE);
	}
	json(call.res, text, headers);
}

/** The connection is closed when nothing is read for `readTimeout`. */
export function mustRead({ res, engine }: Call): void {
	res.setTimeout(engine.budgets.readTimeout.limit);
}

/** Sends the job object with its output, which is freed then. */
export function answerJob(call: Call, found: JobResult): void {
	holdNow(call, outputSize(found));
	if (typeof found.output === "object") call.res.once("finish", () => release(found.output!));
	json(call.res, jobView(found, call.engine.now()));
}

/** Lets outputs in when the caller may hold them; `x-request-id` names the job of one that is refused. */
export function admitOutput(call: Call): AdmitOutput {
	return (found) => {
		const size = outputSize(found);
		if (size <= FREE_BYTES) return undefined;
		mustRead(call);
		const waiting = hold(call, size);
		const unread = found.outputBytes ?? 0;
		return waiting || unread > 0 ? admitted(call, found.job.id, unread, waiting) : undefined;
	};
}

async function admitted(call: Call, id: string, unread: number, waiting: Promise<void> | undefined): Promise<void> {
	if (waiting) {
		const named = call.res.hasHeader("x-request-id");
		if (!named) call.res.setHeader("x-request-id", id);
		await waiting;
		if (!named) call.res.removeHeader("x-request-id");
	}
	if (!call.holds.turn && unread > 0)
		await call.service.pace.spend(principalOf(call).keyId, unread * MS_PER_BYTE, call.caller);
}

function bytesIn(text: JsonPieces): number {
	return typeof text === "string" ? text.length : text.reduce((sum, piece) => sum + piece.length, 0);
}
