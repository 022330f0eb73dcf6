/**
 * Shows the database thread whether the service's turn of the event loop goes on in which
 * operations are requested: it can wait for the turn's end and make one commit for all of it
 * (decision 0023, T11). Answers could not be acted on earlier.
 *
 * Two numbers in shared memory. `GOING` is 1 from the first operation of a turn until its last batch
 * is sent. `NEWS` grows after each message and after each end of a turn, so a reader that has seen
 * it, found no message and still finds the same number can sleep until it grows. Only the service
 * writes.
 */

/** Memory of both threads. */
export type TurnMemory = Int32Array<SharedArrayBuffer>;

const GOING = 0;
const NEWS = 1;

/** Longest wait for the end of a turn, ms; what has arrived by then is committed. */
const LONGEST_MS = 1000;

export function turnMemory(): TurnMemory {
	return new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
}

/** The service's side. */
export interface TurnSender {
	/** Call before the first operation of a turn is sent. */
	begins(): void;
	/** Call after each message. */
	sent(): void;
	/** Call after the last message of the turn, also where there is none. */
	ends(): void;
}

export function turnSender(memory: TurnMemory): TurnSender {
	function wake(): void {
		Atomics.add(memory, NEWS, 1);
		Atomics.notify(memory, NEWS);
	}
	return {
		begins: () => void Atomics.store(memory, GOING, 1),
		sent: wake,
		ends() {
			Atomics.store(memory, GOING, 0);
			wake();
		},
	};
}

/** For a thread that never waits. */
export const UNHEARD: TurnSender = { begins() {}, sent() {}, ends() {} };

/** The database thread's side. */
export interface TurnListener {
	/** Read before looking for a message. */
	news(): number;
	/**
	 * Call when no message was found after `seen` was read: blocks while the turn goes on. Whether to
	 * look again.
	 */
	more(seen: number): boolean;
}

export function turnListener(memory: TurnMemory, longestMs = LONGEST_MS): TurnListener {
	return {
		news: () => Atomics.load(memory, NEWS),
		more(seen) {
			if (Atomics.load(memory, NEWS) !== seen) return true;
			return (
				Atomics.load(memory, GOING) === 1 &&
				Atomics.wait(memory, NEWS, seen, longestMs) !== "timed-out"
			);
		},
	};
}
