/**
 * Whether the server is ready for jobs. A server is asked before a take if it was idle, never while a request is open,
 * since many servers answer nothing while they work, and never while it sleeps. One that takes several jobs and was not
 * ready is asked also while a request is open: that one may last hours, in which no other job would be taken.
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import { connect, type Server } from "../exchange/connection.ts";
import { callServer } from "../exchange/server-call.ts";
import { holds } from "../mapping/condition.ts";
import type { Hide } from "../mapping/credentials.ts";
import { hasStatus, type Ready } from "../mapping/mapping.ts";

export interface Readiness {
	/** Resolves when the server is ready, or `signal` aborts. */
	untilReady(signal: AbortSignal): Promise<void>;
	/** Called before each take. */
	mayTake(): Promise<boolean>;
	/** Number of jobs with an open request. */
	readonly open: number;
	/** A request of a job begins. Returns what is called at its end. */
	opened(): () => void;
	/** The server has answered a request of a job, with this status. One of 2xx shows that it is ready. */
	answered(status: number): void;
	/** A request shows that the server cannot work. No job is taken until it is ready again. */
	failed(reason: string): void;
	/** Asks the server now. */
	probe(): Promise<boolean>;
}

export interface ReadinessOptions {
	server: Server;
	ready: Ready;
	/** Jobs that the server takes at a time. */
	concurrency: number;
	/** Of the request of the mapping, as far as they do not depend on a job. */
	headers: Record<string, string>;
	clock: Clock;
	log: Log;
	isAsleep: () => boolean;
	/** Whether the worker's own server has ended: whatever answers in its place is another one. */
	hasEnded: () => boolean;
	hide: Hide;
	/** The server is ready, at first or after it was not. Default: a line of the log. */
	onReady?: (() => void) | undefined;
	/** The server was not ready for `lostAfterMs`. */
	onLost: (reason: string) => void;
}

/** Idle time after which a server is asked before a take. */
const IDLE_MS = 10_000;
/** Interval of log lines while the server is not ready. */
const LOG_MS = 10_000;
/** Bytes of an answer in the log. */
const SHOWN = 200;

export function createReadiness(options: ReadinessOptions): Readiness {
	const {
		ready,
		concurrency,
		clock,
		log,
		isAsleep,
		onLost,
		onReady = () => log("INFO", "The server is ready."),
	} = options;
	let isReady = false;
	let contactAt = 0;
	let probedAt = 0;
	let lostAt: number | undefined;
	let lastAnswer = "no answer yet";
	let open = 0;
	let probing: Promise<boolean> | undefined;

	function failed(reason: string): void {
		lastAnswer = reason;
		lostAt ??= clock.now();
		if (isReady) log("WARN", `The server is not ready: ${reason}. No jobs are taken until it is.`);
		isReady = false;
	}

	async function ask(): Promise<boolean> {
		const found = await faultOf(options);
		const fault = options.hasEnded() ? "it has ended" : found;
		probedAt = clock.now();
		if (fault !== undefined) {
			failed(fault);
			return false;
		}
		succeeded();
		return true;
	}

	function succeeded(): void {
		if (!isReady) onReady();
		isReady = true;
		lostAt = undefined;
		contactAt = clock.now();
	}

	function probe(): Promise<boolean> {
		probing ??= ask().finally(() => {
			probing = undefined;
		});
		return probing;
	}

	return {
		probe,
		failed,
		get open() {
			return open;
		},
		async untilReady(signal) {
			let loggedAt = clock.now();
			while (!signal.aborted && !(await probe())) {
				if (clock.now() - loggedAt >= LOG_MS) {
					loggedAt = clock.now();
					log("INFO", `Waiting for the server: ${lastAnswer}.`);
				}
				await clock.sleep(ready.everyMs, signal);
			}
			// The service shows the last line that names an error for a worker that it stopped before its first call.
			const asked = ready.path === undefined ? "" : `GET ${ready.path}: `;
			if (!isReady) log("WARN", `Error: the server did not become ready. ${asked}${lastAnswer}.`);
		},
		async mayTake() {
			// Time in which the server worked or slept does not count.
			if ((open > 0 || isAsleep()) && lostAt !== undefined) lostAt = clock.now();
			if (isAsleep() || (open > 0 && (isReady || concurrency === 1))) return isReady;
			const now = clock.now();
			if (isReady && now - contactAt < IDLE_MS) return true;
			if (!isReady && now - probedAt < ready.everyMs) return false;
			if (await probe()) return true;
			if (open === 0 && lostAt !== undefined && clock.now() - lostAt >= ready.lostAfterMs) onLost(lastAnswer);
			return false;
		},
		opened() {
			open += 1;
			return () => {
				open -= 1;
			};
		},
		answered(status) {
			if (status >= 200 && status <= 299) return succeeded();
			contactAt = clock.now();
			lostAt = undefined;
		},
	};
}

/** Why the server is not ready. Undefined if it is. */
async function faultOf({ server, ready, headers, clock, hide }: ReadinessOptions): Promise<string | undefined> {
	const limits = { connectMs: ready.timeoutMs, withinMs: ready.timeoutMs, clock };
	try {
		if (ready.path === undefined) {
			(await connect(server, limits)).destroy();
			return undefined;
		}
		const request = { method: "GET", path: ready.path, headers, body: undefined };
		const { status, text, value } = await callServer(server, request, limits);
		const isReady = hasStatus(ready.status, status) && (!ready.where || holds(ready.where, value));
		return isReady ? undefined : `HTTP ${status} ${hide(text).slice(0, SHOWN)}`.trim();
	} catch (error) {
		return (error as Error).message;
	}
}
