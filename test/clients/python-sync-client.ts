/**
 * RunPod's synchronous Python SDK as a script: requests, retries, what it reads and when it stops
 * (protocol A.2, A.10).
 */
import type { Clock } from "../../src/kernel/system/clock.ts";
import { type Answer, type Asked, type Fault, openExchange } from "./exchange.ts";
import { COMPLETED, dumps, FINAL, outputOf, type Pause, pythonError, subscript, yielded } from "./python.ts";

/** `runpod.Job`. Times in seconds, as in Python. */
export interface PythonJob {
	readonly id: string;
	status(): Promise<unknown>;
	/**
	 * The output, null for None. With a timeout it polls `/status` each second; without, it takes
	 * what is there.
	 */
	output(timeout?: number): Promise<unknown>;
	stream(): AsyncGenerator<unknown, void>;
	cancel(timeout?: number): Promise<unknown>;
}

/** `runpod.Endpoint`. Times in seconds. Rejects with errors named as Python's exceptions. */
export interface PythonEndpoint {
	readonly sent: readonly Asked[];
	run(body: Record<string, unknown>): Promise<PythonJob>;
	runSync(body: Record<string, unknown>, timeout?: number): Promise<unknown>;
	health(timeout?: number): Promise<unknown>;
	purgeQueue(timeout?: number): Promise<unknown>;
	/** The job of an id that is already known. */
	job(id: string): PythonJob;
	close(): void;
}

export interface PythonSyncOptions {
	/** `RUNPOD_ENDPOINT_BASE_URL`. */
	base: string;
	endpoint: string;
	key: string;
	/** Timeouts of requests run on it. */
	clock: Clock;
	/** `time.sleep`, of the SDK and between the retries of its adapter. */
	pause: Pause;
}

/** Retries of the adapter that the SDK mounts for `http://`. */
const RETRIES = 5;
/** Statuses that it repeats. */
const REPEATED = new Set([408, 429]);
/** Statuses that urllib3 repeats when the answer says `Retry-After`. */
const REPEATED_IF_TOLD = new Set([413, 429, 503]);

/** Makes one. */
export function pythonSync({ base, endpoint, key, clock, pause }: PythonSyncOptions): PythonEndpoint {
	const exchange = openExchange(clock);
	const adapted = base.startsWith("http://");
	const headers = {
		"User-Agent": "python-requests/2.28.1",
		"Accept-Encoding": "gzip, deflate",
		Accept: "*/*",
		Connection: "keep-alive",
		"Content-Type": "application/json",
		Authorization: `Bearer ${key}`,
	};

	/**
	 * The request, repeated as urllib3 does it: at once, then after 2, 4, 8 and 16 s, or when
	 * `Retry-After` says.
	 */
	async function adapter(q: Asked): Promise<Answer> {
		for (let retry = 0; ; retry += 1) {
			const { answer, fault } = await exchange.ask(q);
			const left = adapted ? RETRIES - retry : 0;
			if (answer && !repeats(answer, q.method, left)) return answer;
			if (fault && !(adapted && (fault === "refused" || q.method === "GET"))) throw faultOf(fault);
			if (left === 0)
				throw answer
					? pythonError("RetryError", `too many ${answer.status} error responses`)
					: pythonError("ConnectionError", "Max retries exceeded");
			const retryAfter = Number(answer?.headers["retry-after"] ?? 0);
			const wait = retryAfter > 0 ? retryAfter : retry === 0 ? 0 : 2 ** retry;
			if (wait > 0) await pause(wait * 1000);
		}
	}

	function repeats({ status, headers: got }: Answer, method: Asked["method"], left: number): boolean {
		if (!adapted || method !== "GET") return false;
		return REPEATED.has(status) || (left > 0 && got["retry-after"] !== undefined && REPEATED_IF_TOLD.has(status));
	}

	function faultOf(fault: Fault): Error {
		return fault === "timeout"
			? pythonError("ReadTimeout", "Read timed out.")
			: pythonError("ConnectionError", `connection ${fault}`);
	}

	async function asked(method: Asked["method"], path: string, timeout: number, body?: unknown): Promise<unknown> {
		const text = body === undefined ? undefined : dumps(body);
		const length =
			text === undefined
				? method === "POST"
					? { "Content-Length": "0" }
					: {}
				: { "Content-Length": String(Buffer.byteLength(text)) };
		const answer = await adapter({
			method,
			url: `${base}/${endpoint}/${path}`,
			headers: { ...headers, ...length },
			timeoutMs: timeout * 1000,
			...(text === undefined ? {} : { body: text }),
		});
		if (answer.status === 401) throw pythonError("RuntimeError", "401 Unauthorized");
		if (answer.status >= 400) throw pythonError("HTTPError", `${answer.status} ${answer.reason}`);
		try {
			return JSON.parse(answer.text);
		} catch {
			throw pythonError("JSONDecodeError", answer.text);
		}
	}

	function job(id: string): PythonJob {
		let known: unknown;
		let output: unknown = null;

		async function fetched(source: "status" | "stream"): Promise<unknown> {
			const state = await asked("GET", `${source}/${id}`, 10);
			const status = subscript(state, "status");
			if (COMPLETED.includes(status)) {
				known = status;
				output = outputOf(state);
			}
			return state;
		}

		const status = async (): Promise<unknown> => known ?? subscript(await fetched("status"), "status");

		return {
			id,
			status,
			async output(timeout = 0) {
				for (let left = timeout; timeout > 0 && !COMPLETED.includes(await status()); ) {
					await pause(1000);
					left -= 1;
					if (left <= 0) throw pythonError("TimeoutError", "Job timed out.");
				}
				return output ?? outputOf(await fetched("status"));
			},
			async *stream() {
				for (;;) {
					await pause(1000);
					const chunks = yielded(await fetched("stream"));
					if (!chunks) return;
					yield* chunks;
				}
			},
			cancel: (timeout = 3) => asked("POST", `cancel/${id}`, timeout),
		};
	}

	/**
	 * A body without a truthy `input` becomes the input. In Python empty objects and lists are not
	 * truthy.
	 */
	function wrapped(body: Record<string, unknown>): Record<string, unknown> {
		const { input } = body;
		const empty = !input || (typeof input === "object" && Object.keys(input).length === 0);
		return empty ? { input: body } : body;
	}

	return {
		sent: exchange.sent,
		job,
		run: async (body) => job(subscript(await asked("POST", "run", 10, wrapped(body)), "id") as string),
		async runSync(body, timeout = 86_400) {
			const state = await asked("POST", "runsync", timeout, wrapped(body));
			if (FINAL.includes(subscript(state, "status"))) return outputOf(state);
			return await job(subscript(state, "id") as string).output(timeout);
		},
		health: (timeout = 3) => asked("GET", "health", timeout),
		purgeQueue: (timeout = 3) => asked("POST", "purge-queue", timeout),
		close: exchange.close,
	};
}
