/**
 * A fake RunPod worker: the loops of the Python SDK (take, run, stop, ping) over `sdk-protocol.ts`,
 * written from protocol B alone and sharing nothing with the worker kit. Handlers are
 * functions of the test.
 */
import { on } from "node:events";
import { Worker as Thread } from "node:worker_threads";
import { type Answer, sdkProtocol, type SdkProtocol } from "./sdk-protocol.ts";
import { generatorBody, pythonJson, raisedBody, resultBody } from "./sdk-worker-result.ts";
import type { PingerOrder, PingerStart } from "./sdk-worker-pinger.ts";

/** A job as the handler gets it: the very object that job-take answered. */
export type SdkJob = { id: string; input: any } & Record<string, unknown>;

/**
 * A handler: a value, a promise, or a generator of chunks. `cancelled` stands for
 * `asyncio.CancelledError`.
 */
export type SdkHandler = (
	job: SdkJob,
	context: { cancelled: AbortSignal; progress(value: unknown): Promise<void> },
) => unknown;

export interface SdkWorkerOptions {
	/** The variables of `sluice worker-env`. */
	env: Record<string, string>;
	handler: SdkHandler;
	/** Pauses of the SDK (1 s, 2 s, 3 s, 5 s, 90 s), ms. */
	sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
	/** What `concurrency_modifier` answers. Default 1. */
	concurrency?: number;
	/**
	 * Default 1.12.0. Below 1.10.0 no stop channel, below 1.7.3 no pause on 429 and no graceful end,
	 * below 1.7.1 no batch.
	 */
	version?: string;
	/** `return_aggregate_stream`. */
	aggregate?: boolean;
	/** `refresh_worker: True` in its configuration. */
	refresh?: boolean;
	/**
	 * The handler is synchronous: while it runs the main part takes, stops and posts nothing (B.4,
	 * B.8).
	 */
	blocking?: boolean;
	/** The handler swallows `CancelledError` and reports a normal result (B.8). */
	swallows?: boolean;
	/**
	 * Pause between the pings of its thread, ms; 0: only on {@link SdkWorker.ping}; absent: it has no
	 * ping thread.
	 */
	pingEveryMs?: number;
}

/** A worker that runs. */
export interface SdkWorker {
	readonly protocol: SdkProtocol;
	/** Errors as the SDK would log them. */
	readonly errors: readonly string[];
	/** Jobs whose handler began, in order. */
	readonly began: readonly string[];
	/** Jobs that its pings name. */
	held(): string[];
	/** Pings from its thread, and resolves with the status of the answer. */
	ping(): Promise<number>;
	/** Pings answered so far, shared with the thread. */
	readonly pings: Int32Array;
	/** SIGTERM (B.8): running jobs end and post; it ends when its open polls have returned. */
	terminate(): void;
	/** SIGKILL: its connections are cut, nothing more is posted. */
	kill(): Promise<void>;
	/** Resolves when it has ended. */
	ended: Promise<void>;
}

/** How long a poll may take before the worker hangs up (B.3, B.8), ms. */
const CUT_MS = 90_000;

/** Waits between the attempts of a post that is answered 5xx (B.6), ms. */
const POST_WAITS_MS = [2000, 3000] as const;

const atLeast = (version: string, floor: string): boolean => version.localeCompare(floor, "en", { numeric: true }) >= 0;

/** Starts a worker. */
export function sdkWorker(o: SdkWorkerOptions): SdkWorker {
	const { concurrency = 1, version = "1.12.0", sleep } = o;
	const protocol = sdkProtocol(o.env, { version });
	const errors: string[] = [];
	const began: string[] = [];
	const held = new Set<string>();
	const running = new Map<string, { cancel: AbortController; over: Promise<void> }>();
	const dead = new AbortController();
	const pings = new Int32Array(new SharedArrayBuffer(4));
	const thread = o.pingEveryMs === undefined ? undefined : startPinger(o.pingEveryMs);
	const news = new Set<() => void>();
	let leaving = false;
	let blocked: Promise<void> | undefined;

	function startPinger(everyMs: number): Thread {
		const start: PingerStart = {
			env: o.env,
			version,
			answered: pings,
			...(everyMs > 0 ? { everyMs } : {}),
		};
		return new Thread(new URL("./sdk-worker-pinger.ts", import.meta.url), { workerData: start });
	}

	function notify(ping = false): void {
		thread?.postMessage({ named: [...held], ping } satisfies PingerOrder);
	}

	/** Resolves when no blocking handler occupies the event loop. */
	async function free(): Promise<void> {
		while (blocked) await blocked;
	}

	/** A poll that the worker cuts after 90 s; undefined when it failed. */
	async function polled(call: (signal: AbortSignal) => Promise<Answer>): Promise<Answer | undefined> {
		const cut = new AbortController();
		const over = new AbortController();
		void sleep(CUT_MS, over.signal).then(() => cut.abort());
		try {
			return await call(AbortSignal.any([cut.signal, dead.signal]));
		} catch (error) {
			if (!dead.signal.aborted) errors.push(`Failed to get job. | ${String(error)}`);
			return undefined;
		} finally {
			over.abort();
			await free();
		}
	}

	function jobsOf(answer: Answer): SdkJob[] {
		if (answer.status !== 200 || answer.type !== "application/json") {
			if (![200, 204, 400, 429].includes(answer.status))
				errors.push(`Failed to get job, status code: ${answer.status}`);
			return [];
		}
		const parsed = parsedOr(answer.text, []) as SdkJob | SdkJob[];
		if (Array.isArray(parsed)) return parsed;
		if ("id" in parsed && "input" in parsed) return [parsed];
		errors.push("Job has missing field(s): id or input.");
		return [];
	}

	async function takeLoop(): Promise<void> {
		while (!leaving && !dead.signal.aborted) {
			await free();
			const needed = concurrency - running.size;
			if (needed <= 0) {
				await roomOrSecond();
				continue;
			}
			const batch = needed >= 2 && atLeast(version, "1.7.1");
			const busy = held.size > 0;
			const answer = await polled((signal) =>
				batch ? protocol.takeBatch({ size: needed, busy, signal }) : protocol.take({ busy, signal }),
			);
			if (!answer) continue;
			if (answer.status === 429 && atLeast(version, "1.7.3")) await sleep(5000, dead.signal);
			for (const job of jobsOf(answer)) {
				held.add(job.id);
				notify();
				// A job that comes after SIGTERM is accepted, named in pings, and never run.
				if (!leaving) begin(job);
			}
		}
	}

	/** It looks again in 1 s; to make tests quick, also when a job ends. */
	async function roomOrSecond(): Promise<void> {
		const room = new AbortController();
		const wake = (): void => room.abort();
		news.add(wake);
		await sleep(1000, AbortSignal.any([room.signal, dead.signal]));
		news.delete(wake);
	}

	function begin(job: SdkJob): void {
		const cancel = new AbortController();
		began.push(job.id);
		const over = run(job, cancel).finally(() => {
			running.delete(job.id);
			held.delete(job.id);
			notify();
			for (const wake of news) wake();
			if (o.refresh) terminate();
		});
		running.set(job.id, { cancel, over });
	}

	async function run(job: SdkJob, cancel: AbortController): Promise<void> {
		const cancelled = new Promise<"cancelled">((resolve) =>
			cancel.signal.addEventListener("abort", () => resolve("cancelled"), { once: true }),
		);
		const context = {
			cancelled: cancel.signal,
			progress: (value: unknown) =>
				deliver(() => protocol.done(job.id, pythonJson({ status: "IN_PROGRESS", output: value }))),
		};
		let unblock = (): void => {};
		if (o.blocking) blocked = new Promise((resolve) => (unblock = resolve));
		const made = handle(job, context).finally(() => {
			blocked = undefined;
			unblock();
		});
		const result = await (o.swallows ? made : Promise.race([made, cancelled]));
		if (result === "cancelled") return;
		// The pending cancel of a blocking handler hits while the result is being posted.
		if (o.blocking) await new Promise((resolve) => setImmediate(resolve));
		if (cancel.signal.aborted && !o.swallows) return;
		let text: string;
		try {
			text = pythonJson({ ...result.body, ...(o.refresh ? { stopPod: true } : {}) });
		} catch (error) {
			errors.push(`Error while returning job result. | ${String(error)}`);
			return;
		}
		await deliver(() => protocol.done(job.id, text, { stream: result.stream, signal: dead.signal }));
	}

	async function handle(
		job: SdkJob,
		context: Parameters<SdkHandler>[1],
	): Promise<{ body: Record<string, unknown>; stream: boolean }> {
		try {
			const made = o.handler(job, context);
			if (isGenerator(made)) {
				const post = (chunk: unknown): Promise<void> =>
					deliver(() => protocol.chunk(job.id, pythonJson({ output: chunk }), { signal: dead.signal }));
				return {
					body: await generatorBody(made, {
						post,
						aggregate: o.aggregate ?? false,
						cancelled: context.cancelled,
					}),
					stream: true,
				};
			}
			return { body: resultBody(await made), stream: false };
		} catch (error) {
			return { body: raisedBody(error, { worker: protocol.id, version }), stream: false };
		}
	}

	/** Up to three attempts, again only on 5xx; else the post is lost (B.6). */
	async function deliver(post: () => Promise<Answer>): Promise<void> {
		for (const wait of [...POST_WAITS_MS, undefined]) {
			let status: number;
			try {
				({ status } = await post());
			} catch {
				errors.push("Failed to return job results. | Server disconnected");
				return;
			}
			if (status < 400) return;
			if (status < 500 || wait === undefined) {
				errors.push(`Failed to return job results. | ${status}`);
				return;
			}
			await sleep(wait, dead.signal);
		}
	}

	async function stopLoop(): Promise<void> {
		if (!atLeast(version, "1.10.0")) return;
		while (!leaving && !dead.signal.aborted) {
			const answer = await polled((signal) => protocol.stop({ signal }));
			const ids =
				answer?.status === 200 && answer.type === "application/json"
					? ((JSON.parse(answer.text) as { jobsToStop?: unknown[] }).jobsToStop ?? [])
					: [];
			if (answer && ![200, 204, 429].includes(answer.status))
				errors.push(`Failed to get stops, status code: ${answer.status}`);
			// Ids that are no strings are passed over.
			for (const id of ids) running.get(id as string)?.cancel.abort();
			if (ids.length === 0 && !leaving) await sleep(answer?.status === 429 ? 5000 : 1000, dead.signal);
		}
	}

	function terminate(): void {
		if (!atLeast(version, "1.7.3")) void kill();
		leaving = true;
	}

	async function kill(): Promise<void> {
		dead.abort();
		protocol.close();
		await thread?.terminate();
	}

	const ended = Promise.all([takeLoop(), stopLoop()])
		.then(() => (dead.signal.aborted ? undefined : Promise.all([...running.values()].map(({ over }) => over))))
		.then(() => kill());

	return {
		protocol,
		errors,
		began,
		pings,
		terminate,
		kill,
		ended,
		held: () => [...held],
		async ping() {
			if (!thread) throw new Error("This worker has no ping thread.");
			const answers = on(thread, "message");
			notify(true);
			const { value } = (await answers.next()) as { value: [number] };
			await answers.return?.();
			return value[0];
		},
	};
}

/** The JSON value of a text; `otherwise` for one that is not JSON. */
function parsedOr(text: string, otherwise: unknown): unknown {
	try {
		return JSON.parse(text) as unknown;
	} catch {
		return otherwise;
	}
}

function isGenerator(made: unknown): made is AsyncIterable<unknown> | Iterable<unknown> {
	return (
		typeof made === "object" &&
		made !== null &&
		"next" in made &&
		(Symbol.asyncIterator in made || Symbol.iterator in made)
	);
}
