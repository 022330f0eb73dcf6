/**
 * Tells the database thread whether the turn of the service's event loop, in which operations are
 * asked for, goes on: the thread may wait for its end, and then make one commit for all that it
 * brought. Answers could not be acted on earlier anyway.
 */

/** Memory that both threads share. */
export type TurnMemory = Int32Array<SharedArrayBuffer>;

/** Whether a turn goes on, and a number that changes with whatever the thread may wait for. */
const GOING = 0;
const NEWS = 1;

/** Longest wait for the end of a turn, ms: what has come by then is committed by itself. */
const LONGEST_MS = 1000;

export function turnMemory(): TurnMemory {
	return new Int32Array(new SharedArrayBuffer(8));
}

function tell(memory: TurnMemory): void {
	Atomics.add(memory, NEWS, 1);
	Atomics.notify(memory, NEWS);
}

/**
 * The service's side: a turn has begun to ask, something was sent, the turn has sent all it had.
 */
export interface TurnTeller {
	begins(): void;
	sent(): void;
	ends(): void;
}

export function turnTeller(memory: TurnMemory): TurnTeller {
	return {
		begins: () => void Atomics.store(memory, GOING, 1),
		sent: () => tell(memory),
		ends() {
			Atomics.store(memory, GOING, 0);
			tell(memory);
		},
	};
}

/** The thread's side: it asks for `news`, looks what has come, and then for `more` than that. */
export function turnListener(memory: TurnMemory): {
	news(): number /** Waits for news after `seen`, of which the end of the turn is one; false when there will be none. */;
	more(seen: number): boolean;
} {
	return {
		news: () => Atomics.load(memory, NEWS),
		more(seen) {
			if (Atomics.load(memory, NEWS) !== seen) return true;
			return (
				Atomics.load(memory, GOING) === 1 &&
				Atomics.wait(memory, NEWS, seen, LONGEST_MS) !== "timed-out"
			);
		},
	};
}
