/**
 * RunPod's asyncio Python SDK as a script: no status code is ever read, every body must be
 * JSON and say so (protocol A.3, A.10).
 */
import type { Clock } from "../../src/kernel/system/clock.ts";
import { type Asked, openExchange } from "./exchange.ts";
import { COMPLETED, dumps, outputOf, type Pause, pythonError, subscript, yielded } from "./python.ts";

/** `runpod.AsyncioJob`. */
export interface AsyncioJob {
	readonly id: string;
	status(): Promise<unknown>;
	/**
	 * The output, null for None. With the default of 0 seconds it raises at once unless the output is
	 * known.
	 */
	output(timeout?: number): Promise<unknown>;
	stream(): AsyncGenerator<unknown, void>;
	cancel(): Promise<unknown>;
}

/** `runpod.AsyncioEndpoint`. Rejects with errors named as Python's exceptions. */
export interface AsyncioEndpoint {
	readonly sent: readonly Asked[];
	run(input: unknown): Promise<AsyncioJob>;
	health(): Promise<unknown>;
	purgeQueue(): Promise<unknown>;
	/** The job of an id that is already known. */
	job(id: string): AsyncioJob;
	close(): void;
}

/** How long aiohttp waits for a whole answer by default, ms. */
const SESSION_TIMEOUT_MS = 300_000;

/** Makes one. Timeouts run on `clock`; `pause` is `asyncio.sleep`. */
export function pythonAsyncio({
	base,
	endpoint,
	key,
	clock,
	pause,
}: {
	base: string;
	endpoint: string;
	key: string;
	clock: Clock;
	pause: Pause;
}): AsyncioEndpoint {
	const exchange = openExchange(clock);
	const ours = { "Content-Type": "application/json", Authorization: `Bearer ${key}` };

	async function asked(
		method: Asked["method"],
		path: string,
		q: { extra?: Record<string, string>; body?: unknown } = {},
	): Promise<unknown> {
		const text = q.body === undefined ? undefined : dumps(q.body);
		const length =
			text === undefined
				? method === "POST"
					? { "Content-Length": "0" }
					: {}
				: { "Content-Length": String(Buffer.byteLength(text)) };
		const headers = {
			...ours,
			...q.extra,
			Accept: "*/*",
			"Accept-Encoding": "gzip, deflate",
			"User-Agent": "Python/3.11 aiohttp/3.8.4",
			...length,
		};
		const { answer, fault } = await exchange.ask({
			method,
			url: `${base}/${endpoint}/${path}`,
			headers,
			timeoutMs: SESSION_TIMEOUT_MS,
			...(text === undefined ? {} : { body: text }),
		});
		if (fault)
			throw fault === "timeout" ? pythonError("TimeoutError", "") : pythonError("ClientError", `connection ${fault}`);
		const type = answer.headers["content-type"] ?? "";
		if (!/^application\/(?:[\w.+-]+\+)?json\b/.test(type))
			throw pythonError("ContentTypeError", `Attempt to decode JSON with unexpected mimetype: ${type}`);
		return answer.text.trim() === "" ? null : JSON.parse(answer.text);
	}

	function job(id: string): AsyncioJob {
		const extra = { "X-Request-ID": id };
		let known: unknown;
		let output: unknown = null;

		async function fetched(source: "status" | "stream"): Promise<unknown> {
			const state = await asked("GET", `${source}/${id}`, { extra });
			const status = subscript(state, "status");
			if (COMPLETED.includes(status)) {
				known = status;
				output = outputOf(state);
			}
			return state;
		}

		const status = async (): Promise<unknown> => known ?? subscript(await fetched("status"), "status");

		/** `asyncio.wait_for` around the polling, which never begins with a timeout of 0. */
		async function completed(timeout: number): Promise<void> {
			const late = pythonError("TimeoutError", "Job timed out.");
			if (timeout <= 0) throw late;
			const over = new AbortController();
			const end = clock.sleep(timeout * 1000, over.signal).then(() => {
				if (!over.signal.aborted) throw late;
			});
			const polling = async (): Promise<void> => {
				while (!over.signal.aborted && !COMPLETED.includes(await status())) await pause(1000);
			};
			await Promise.race([polling(), end]).finally(() => over.abort());
		}

		return {
			id,
			status,
			async output(timeout = 0) {
				if (output !== null) return output;
				await completed(timeout);
				return outputOf(await fetched("status"));
			},
			async *stream() {
				for (;;) {
					await pause(1000);
					const chunks = yielded(await fetched("stream"));
					if (!chunks) return;
					yield* chunks;
				}
			},
			cancel: () => asked("POST", `cancel/${id}`, { extra }),
		};
	}

	return {
		sent: exchange.sent,
		job,
		run: async (input) => job(subscript(await asked("POST", "run", { body: { input } }), "id") as string),
		health: () => asked("GET", "health"),
		purgeQueue: () => asked("POST", "purge-queue"),
		close: exchange.close,
	};
}
