/** Sends answers. Their bytes count for the memory budget until the client has read them (D41). */
import { type AdmitOutput, type JobResult, jobView, outputSize } from "../../core/jobs/job-view.ts";
import { type JsonPieces, release } from "../../lib/json/json-text.ts";
import { principalOf } from "../gates/auth.ts";
import type { Call } from "./call.ts";
import { FREE_BYTES, hold, holdNow } from "../memory/call-memory.ts";
import { json } from "./reply.ts";

/** Time of store and event loop that a byte of a large answer costs (D41), ms. */
const MS_PER_BYTE = 1 / 2 ** 20;

export async function answer(call: Call, text: JsonPieces, headers: readonly string[] = []): Promise<void> {
	const size = bytesIn(text);
	if (size > FREE_BYTES) {
		await hold(call, size);
		mustRead(call);
		call.holds.turn?.charge(size * MS_PER_BYTE);
	}
	json(call.res, text, headers);
}

/** Closes the connection when the client reads nothing for `readTimeout`. */
export function mustRead({ res, engine }: Call): void {
	res.setTimeout(engine.budgets.readTimeout.limit);
}

export function answerJob(call: Call, found: JobResult): void {
	holdNow(call, outputSize(found));
	if (typeof found.output === "object") call.res.once("finish", () => release(found.output!));
	json(call.res, jobView(found, call.engine.now()));
}

/** Admits outputs within the memory of the caller. `x-request-id` names the job of a refused one. */
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
