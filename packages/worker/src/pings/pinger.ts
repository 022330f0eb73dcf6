import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { PingThreadData } from "./ping-thread.ts";
import { userAgent } from "../settings.ts";
import { kitVersion } from "../version.ts";

export interface PingerOptions {
	url: string;
	key: string;
	intervalMs: number;
	table: SharedArrayBuffer;
	clock: Clock;
	log: Log;
}

export interface Pinger {
	/** Resolves when the thread runs or has failed. Handlers may block afterwards. */
	readonly ready: Promise<void>;
	/** Sets the held ids that are not in the table. Effective even if this thread blocks next. */
	overflow(ids: string[]): void;
	stop(): Promise<void>;
}

const RESTART_MS = 1000;

const threadFile = new URL(`./ping-thread${extname(new URL(import.meta.url).pathname)}`, import.meta.url);

/** Restarts an exited thread after a second (protocol B.7). */
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
		// Flags of the main thread, such as --input-type, can make starting a file fail.
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
