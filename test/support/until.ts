/**
 * The one way in which tests wait for something that no event reports. Prefer an event; poll what
 * another process or server does.
 */
import { setTimeout as sleep } from "node:timers/promises";

/** A value that ends the wait. */
type Found<T> = Exclude<T, false | null | undefined>;

/** Pauses between two polls, ms: from the first to the longest, each twice as long. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 25;
/** A poll that takes long, as a program of a platform does, is paused after for so many times as long. */
const PAUSE_PER_POLL = 4;
const LONGEST_PAUSE_AFTER_POLL_MS = 300;

/**
 * Polls until the result is neither false, null nor undefined, and returns it; fails after `ms`
 * with `what` was waited for, and with the last error as its cause. An error of `check` counts as
 * "not yet"; a failed assertion ends the wait at once.
 */
export async function until<T>(what: string, check: () => T | Promise<T>, ms = 40_000): Promise<Found<T>> {
	const end = performance.now() + ms;
	let pause = FIRST_PAUSE_MS / 2;
	for (let cause: unknown; ; ) {
		const began = performance.now();
		try {
			const found = await check();
			if (found !== undefined && found !== null && found !== false) return found as Found<T>;
			cause = undefined;
		} catch (error) {
			if ((error as Error).name === "AssertionError") throw error;
			cause = error;
		}
		const now = performance.now();
		if (now > end) throw new Error(`Timed out after ${ms / 1000} s waiting for: ${what}`, { cause });
		pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
		await sleep(Math.max(pause, Math.min(PAUSE_PER_POLL * (now - began), LONGEST_PAUSE_AFTER_POLL_MS)));
	}
}

/** Polls until the condition holds; fails after `ms` with its source text. */
export async function untilTrue(condition: () => boolean | Promise<boolean>, ms?: number): Promise<void> {
	await until(String(condition).replace(/^\(\) => /, ""), condition, ms);
}

/** Polls until the result fits, and returns it; fails after `ms` with the last result. */
export async function untilFits<T>(read: () => T | Promise<T>, fits: (result: T) => boolean, ms = 40_000): Promise<T> {
	// The stack of the caller: after a pause the one of the failure has only this file.
	const failure = new Error();
	let last: T | undefined;
	const check = async () => {
		last = await read();
		return fits(last) && { result: last };
	};
	return await until("a result that fits", check, ms).then(
		({ result }) => result,
		(error: Error) => {
			if (error.name === "AssertionError") throw error;
			failure.message = `${error.message}; the last one was ${JSON.stringify(last)}`;
			failure.cause = error.cause;
			throw failure;
		},
	);
}

/** The result of a promise; fails after `ms` with `what` was waited for. */
export async function within<T>(what: string, promise: Promise<T>, ms = 40_000): Promise<T> {
	const over = new AbortController();
	const late = sleep(ms, undefined, { signal: over.signal }).then(() => {
		throw new Error(`Timed out after ${ms / 1000} s waiting for: ${what}`);
	});
	return await Promise.race([promise, late]).finally(() => {
		late.catch(() => {});
		over.abort();
	});
}
