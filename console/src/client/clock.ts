/** The browser's time: the only user of `Date.now` and timers in the console. */
import { useEffect, useReducer } from "react";
import { whileVisible } from "./visible.ts";

/** Ms since the epoch. */
export const now = (): number => Date.now();

/** Calls `run` after `ms`; the function returned takes that back. */
export function after(ms: number, run: () => void): () => void {
	const timer = setTimeout(run, ms);
	return () => clearTimeout(timer);
}

/** Calls `run` after `ms` in which the page was to be seen. */
export function afterSeen(ms: number, run: () => void): () => void {
	const stop = whileVisible(() =>
		after(ms, () => {
			stop();
			run();
		}),
	);
	return stop;
}

/** Calls `run` every `ms` while the page is to be seen: a background tab costs nothing. */
function every(ms: number, run: () => void): () => void {
	return whileVisible(() => {
		run();
		const timer = setInterval(run, ms);
		return () => clearInterval(timer);
	});
}

/** The current time, updated every `ms` while the page is visible. */
export function useNow(ms = 1000): number {
	const [, tick] = useReducer((count: number) => count + 1, 0);
	useEffect(() => every(ms, tick), [ms]);
	return now();
}

/** Another number every `ms` while the page is visible: what is read again then. */
export function useTick(ms: number): number {
	return Math.floor(useNow(ms) / ms);
}

/** Something that is done not too often. */
export interface Throttled {
	/** Does it: at once, or at the end of the pause for all calls that came in it. */
	call: () => void;
	/** Does it at once. */
	rush: () => void;
	stop: () => void;
}

/** Leaves a pause of `ms()` between two runs. */
export function throttled(ms: () => number, run: () => void): Throttled {
	let cancel: (() => void) | undefined;
	let again = false;
	const call = (): void => {
		if (cancel) again = true;
		else rush();
	};
	const rush = (): void => {
		cancel?.();
		again = false;
		run();
		cancel = after(ms(), () => {
			cancel = undefined;
			if (again) rush();
		});
	};
	return { call, rush, stop: () => cancel?.() };
}
