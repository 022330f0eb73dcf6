/** What one request holds of the budget of bytes in flight, from its body to its answer (D41). */
import type { Call } from "../call.ts";
import type { Owner } from "./shares.ts";

/** Bytes of each body and answer that are not counted: small ones cost nothing. */
export const FREE_BYTES = 16_384;

/**
 * Holds exactly so many bytes for this request from now on; a promise if it has to wait for more.
 * Throws `memory_share` and `memory_spent`. Returned when the response closes.
 */
export function hold(call: Call, bytes: number): Promise<void> | undefined {
	const wanted = bytes > FREE_BYTES ? bytes : 0;
	const held = call.held ?? 0;
	if (wanted === held) return undefined;
	const owner = ownerOf(call);
	if (wanted < held) {
		call.memory.give(owner, held - wanted);
		call.held = wanted;
		return undefined;
	}
	if (call.res.closed) return undefined;
	const waiting = call.memory.take(owner, wanted - held, () => closeSignal(call));
	call.held = wanted;
	if (!waiting) return undefined;
	call.held = held;
	return waiting.then((taken) => {
		if (!taken) return;
		if (call.res.closed) call.memory.give(owner, wanted - held);
		else call.held = wanted;
	});
}

/** Holds exactly so many bytes, which are in memory already: it neither waits nor fails. */
export function holdNow(call: Call, bytes: number): void {
	const wanted = bytes > FREE_BYTES ? bytes : 0;
	const held = call.held ?? 0;
	if (wanted <= held) return void hold(call, bytes);
	if (call.res.closed) return;
	call.memory.seize(ownerOf(call), wanted - held);
	call.held = wanted;
}

/** What the caller may hold more at this moment. */
export function room(call: Call): number {
	return call.memory.room(ownerOf(call));
}

/** Used at the close of the response. */
export function releaseAll(call: Call): void {
	if (!call.held) return;
	call.memory.give(ownerOf(call), call.held);
	call.held = 0;
}

function closeSignal({ res }: Call): AbortSignal {
	const closed = new AbortController();
	res.once("close", () => closed.abort());
	return closed.signal;
}

function ownerOf({ principal, worker }: Call): Owner {
	if (worker) return { kind: "worker", id: `${worker.endpoint}/${worker.id}` };
	return { kind: "key", id: principal?.keyId ?? "" };
}
