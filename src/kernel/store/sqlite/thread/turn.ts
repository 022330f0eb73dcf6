/**
 * Lets the database thread wait for the end of the service's turn of the event loop, to make one commit for all
 * operations of the turn (decision 0003, T11).
 *
 * A number in shared memory, written by the service only, changes with each message and at each beginning and end of a
 * turn; it is odd while a turn is open. A thread that reads it, then finds no message, sleeps only while it is
 * unchanged, and misses neither a message nor the end.
 */

export type TurnMemory = Int32Array<SharedArrayBuffer>;

const EVENTS = 0;

/** Maximum wait, ms; what has arrived by then is committed. */
const LONGEST_MS = 1000;

export function turnMemory(): TurnMemory {
	return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
}

export interface TurnWriter {
	/** Call before the first operation of a turn is sent. */
	begin(): void;
	/** Call after each message. */
	messageSent(): void;
	end(): void;
}

export function turnWriter(memory: TurnMemory): TurnWriter {
	const count = (events: number) => (): void => {
		Atomics.add(memory, EVENTS, events);
		Atomics.notify(memory, EVENTS);
	};
	return { begin: count(1), messageSent: count(2), end: count(1) };
}

export const NO_TURN: TurnWriter = { begin() {}, messageSent() {}, end() {} };

export function turnReader(memory: TurnMemory, longestMs = LONGEST_MS) {
	return {
		/** Read it before looking for a message. */
		events: (): number => Atomics.load(memory, EVENTS),

		/**
		 * Blocks until the event count differs from `events`. False at once when no turn is open, and after the longest
		 * wait.
		 */
		waitForEvent(events: number): boolean {
			if (Atomics.load(memory, EVENTS) !== events) return true;
			return events % 2 !== 0 && Atomics.wait(memory, EVENTS, events, longestMs) !== "timed-out";
		},
	};
}
