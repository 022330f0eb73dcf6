/**
 * Starts the ping thread, keeps it running, and hands it the ids that do not fit into the shared
 * table.
 */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { PingThreadData } from "./ping-thread.ts";
import { userAgent } from "../settings.ts";
import { kitVersion } from "../version.ts";

/**
 * What {@link startPinger} needs. `url` without the members that change per ping; `table` from
 * `newHeldTable`.
 */
export interface PingerOptions {
	url: string;
	key: string;
	intervalMs: number;
	table: SharedArrayBuffer;
	clock: Clock;
	log: Log;
}

/** A running ping thread. */
export interface Pinger {
	/**
	 * Resolves when the thread runs (or failed to), i.e. when taking a job that blocks does no harm.
	 */
	readonly ready: Promise<void>;
	/**
	 * Replaces the list of held ids that are not in the table. Reaches the thread even if this thread
	 * blocks right after.
	 */
	overflow(ids: string[]): void;
	stop(): Promise<void>;
}

const RESTART_MS = 1000;

/** The same kind of file as this one: `.ts` from the sources, `.js` when built. */
const threadFile = new URL(
	`./ping-thread${extname(new URL(import.meta.url).pathname)}`,
	import.meta.url,
);

/**
 * Starts pinging (protocol B.7). A thread that ends by itself is logged and replaced after a
 * second.
 */
export function startPinger({ url, key, intervalMs, table, clock, log }: PingerOptions): Pinger {
	const stopped = new AbortController();
	const headers = { authorization: key, "user-agent": userAgent };
	let overflow: string[] = [];
	let thread: Worker | undefined;
	let announce: () => void;
	const ready = new Promise<void>((resolve) => {
		announce = resolve;
	});

	function launch(): void {
		const workerData: PingThreadData = {
			url,
			headers,
			intervalMs,
			version: kitVersion,
			table,
			overflow,
		};
		// Flags of the main thread (say, --input-type) may forbid starting a file; the thread needs
		// none.
		const started = new Worker(threadFile, { workerData, execArgv: [], name: "sluice-ping" });
		thread = started;
		started.on("message", () => announce());
		started.on("error", (error) => log("ERROR", `The ping thread failed: ${String(error)}`));
		started.on("exit", () => void relaunch());
	}

	async function relaunch(): Promise<void> {
		announce();
		if (stopped.signal.aborted) return;
		await clock.sleep(RESTART_MS, stopped.signal);
		if (!stopped.signal.aborted) launch();
	}

	launch();
	return {
		ready,
		overflow(ids) {
			overflow = ids;
			thread?.postMessage(ids);
		},
		async stop() {
			stopped.abort();
			await thread?.terminate();
		},
	};
}
