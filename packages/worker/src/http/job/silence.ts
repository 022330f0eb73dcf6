/** Notices that the server has sent nothing for a time. */
import type { Clock } from "../../clock.ts";

export interface Silence {
	/** Something arrived, or is awaited from now on. */
	heard(): void;
	/** Nothing is awaited until the next {@link Silence.heard}. */
	pause(): void;
	stop(): void;
}

/** Calls `onSilence` once after `silenceMs` without `heard`, from the first one on. 0: never. */
export function watchSilence({
	silenceMs,
	clock,
	onSilence,
}: {
	silenceMs: number;
	clock: Clock;
	onSilence: () => void;
}): Silence {
	const stopped = new AbortController();
	let heardAt = clock.now();
	let isPaused = true;
	async function watch(): Promise<void> {
		for (;;) {
			const left = silenceMs - (isPaused ? 0 : clock.now() - heardAt);
			if (left <= 0) return onSilence();
			await clock.sleep(left, stopped.signal);
			if (stopped.signal.aborted) return;
		}
	}
	if (silenceMs > 0) void watch();
	return {
		heard() {
			heardAt = clock.now();
			isPaused = false;
		},
		pause() {
			isPaused = true;
		},
		stop: () => stopped.abort(),
	};
}

/** Reports each piece of a body to `silence`. While the reader of the body is occupied, nothing is awaited. */
export async function* heardBody(body: AsyncIterable<Buffer>, silence: Silence): AsyncGenerator<Buffer, void> {
	try {
		for await (const piece of body) {
			silence.pause();
			yield piece;
			silence.heard();
		}
	} finally {
		silence.pause();
	}
}
