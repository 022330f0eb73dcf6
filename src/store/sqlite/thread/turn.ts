/**
 * Lets the database thread wait for the end of the service's turn of the event loop, to make one
 * commit for all operations that the turn requests (decision 0003, T11). Answers could not be acted
 * on earlier.
 *
 * One number in shared memory, written by the service only: it changes with each message and at each
 * beginning and end of a turn, and it is odd while a turn is open. A thread that reads it, then finds
 * no message, sleeps only while it is unchanged, so it misses neither a message nor the end.
 */

/** Memory of both threads. */
export type TurnMemory = Int32Array<SharedArrayBuffer>;

/** Index of the event count. */
const EVENTS = 0;

/** Maximum wait for the end of a turn, ms; what has arrived by then is committed. */
const LONGEST_MS = 1000;

export function turnMemory(): TurnMemory {
	return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
}

/** The service's side. */
export interface TurnWriter {
	/** Call before the first operation of a turn is sent. */
	begin(): void;
	/** Call after each message. */
	messageSent(): void;
	/** Call after the last message of the turn, even if none was sent. */
	end(): void;
}

export function turnWriter(memory: TurnMemory): TurnWriter {
	const count = (events: number) => (): void => {
		Atomics.add(memory, EVENTS, events);
		Atomics.notify(memory, EVENTS);
	};
	return { begin: count(1), messageSent: count(2), end: count(1) };
}

/** Writer for a database thread that never waits. */
export const NO_TURN: TurnWriter = { begin() {}, messageSent() {}, end() {} };

/** The database thread's side. */
interface TurnReader {
	/** The event count; read it before looking for a message. */
	events(): number;
	/**
	 * Blocks until the event count differs from `events`. Returns false at once when no turn is open,
	 * and after the longest wait.
	 */
	waitForEvent(events: number): boolean;
}

export function turnReader(memory: TurnMemory, longestMs = LONGEST_MS): TurnReader {
	return {
		events: () => Atomics.load(memory, EVENTS),
		waitForEvent(events) {
			if (Atomics.load(memory, EVENTS) !== events) return true;
			return events % 2 !== 0 && Atomics.wait(memory, EVENTS, events, longestMs) !== "timed-out";
		},
	};
}
