/** The part of the budget of bytes in flight that one request holds (D41). */
import type { Call } from "../exchange/call.ts";
import type { Owner } from "./shares.ts";

/** Bytes of each body and answer that are free of charge. */
export const FREE_BYTES = 16_384;

/**
 * Sets the bytes that the request holds. A promise if it must wait. Throws `memory_share` and `memory_spent`.
 * Released when the response closes.
 */
export function hold(call: Call, bytes: number): Promise<void> | undefined {
	const { holds, service } = call;
	const wanted = bytes > FREE_BYTES ? bytes : 0;
	const held = holds.bytes;
	const more = wanted - held;
	if (more === 0) return undefined;
	const owner = ownerOf(call);
	if (more < 0) {
		service.memory.give(owner, -more);
		holds.bytes = wanted;
		return undefined;
	}
	if (call.res.closed) return undefined;
	const waiting = service.memory.take(owner, more, () => closeSignal(call));
	holds.bytes = waiting ? held : wanted;
	return waiting?.then((taken) => {
		if (!taken) return;
		if (call.res.closed) service.memory.give(owner, more);
		else holds.bytes = wanted;
	});
}

/**
 * Called when the job is stored: its body is not held any more. A separate function, because a closure in the caller
 * would keep the body.
 */
export function onStored(call: Call): (job: string | undefined) => void {
	return (job) => {
		call.submitted = job;
		void hold(call, 0);
	};
}

/** What a read calls with the size of the texts that it is about to read. They are held as read and as sent. */
export function holding(call: Call): (size: number) => Promise<void> | undefined {
	return (size) => hold(call, 2 * size);
}

/** Counts bytes that are in memory already. Neither waits nor fails. */
export function holdNow(call: Call, bytes: number): void {
	const more = bytes - call.holds.bytes;
	if (bytes <= FREE_BYTES || more <= 0) return void hold(call, bytes);
	if (call.res.closed) return;
	call.service.memory.seize(ownerOf(call), more);
	call.holds.bytes = bytes;
}

export function room(call: Call): number {
	return call.service.memory.room(ownerOf(call));
}

function closeSignal({ res }: Call): AbortSignal {
	const closed = new AbortController();
	res.once("close", () => closed.abort());
	return closed.signal;
}

/** Cached, because a sign-in sets its identity after its body was received. */
function ownerOf({ holds, identity: { principal, worker } }: Call): Owner {
	return (holds.owner ??= worker
		? { kind: "worker", id: `${worker.endpoint}/${worker.id}` }
		: { kind: "key", id: principal?.keyId ?? "" });
}
