/** The only place that reads the time or sets a timer. All other code receives a `Clock`. */
import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import type { LocalMs, WallMs } from "./core/time.ts";

/** This machine's clocks and timer, in ms; tests pass a manual one. */
export interface Clock {
	/**
	 * Monotonic, about ms since the epoch: not affected when the time of day is set. On Linux it
	 * stands still while the machine is suspended. Stored times need the job clock.
	 */
	now(): LocalMs;
	/** Time of day. May jump in either direction: for what leaves the service, and to notice jumps. */
	wall(): WallMs;
	/** Time since the machine was started, suspensions included; absent where it is unknown. */
	boot?(): BootTime;
	/** Resolves after `ms`, or when the signal aborts. Never rejects. */
	sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface BootTime {
	/** Differs for each start of the machine. */
	id: string;
	/** In steps of 10 ms. */
	ms: number;
}

/** Maximum Node timer, ms. Longer sleeps are cut to it; callers check again. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const BOOT_ID = "/proc/sys/kernel/random/boot_id";

/** Time of day at which the monotonic clock was 0. */
const origin = Date.now() - performance.now();

export const systemClock: Clock = {
	now: () => Math.floor(origin + performance.now()),
	wall: () => Date.now(),
	...bootClock(),
	sleep: (ms, signal) =>
		new Promise((resolve) => {
			if (signal?.aborted) return resolve();
			const done = () => {
				clearTimeout(timer);
				signal?.removeEventListener("abort", done);
				resolve();
			};
			const timer = setTimeout(done, Math.min(Math.max(0, ms), LONGEST_TIMER_MS));
			signal?.addEventListener("abort", done, { once: true });
		}),
};

/** Linux only: elsewhere the uptime is derived from the time of day. */
function bootClock(): Pick<Clock, "boot"> {
	if (process.platform !== "linux") return {};
	try {
		const id = readFileSync(BOOT_ID, "utf8").trim();
		return { boot: () => ({ id, ms: Math.round(uptime() * 1000) }) };
	} catch {
		return {};
	}
}
