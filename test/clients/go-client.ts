/**
 * RunPod's Go SDK as a script: POST for everything but health, only 200 is success, strict types,
 * no pause between polls (protocol A.5, A.10).
 */
import type { Clock } from "../../src/kernel/system/clock.ts";
import { type Asked, openExchange } from "./exchange.ts";
import { type GoShape, type GoStruct, marshal, unmarshal } from "./go-json.ts";

/** `JobInput`; an empty `input` is left out. */
export interface GoJobInput {
	input?: Record<string, unknown>;
	policy?: { ttl?: number; executionTimeout?: number };
	s3Config?: Record<string, string>;
	webhook?: string;
	webhookV2?: string;
}

/** `endpoint.Endpoint`. Times in seconds. Rejects with Go's error texts. */
export interface GoEndpoint {
	readonly sent: readonly Asked[];
	run(job: GoJobInput): Promise<GoStruct>;
	runSync(job: GoJobInput, timeout?: number): Promise<GoStruct>;
	status(id: string): Promise<GoStruct>;
	statusSync(id: string, timeout?: number): Promise<GoStruct>;
	/** What goes through the channel; it throws where `Stream` returns an error. */
	stream(id: string, timeout?: number): AsyncGenerator<GoStruct | null, void>;
	cancel(id: string): Promise<GoStruct>;
	health(): Promise<GoStruct>;
	purgeQueue(): Promise<GoStruct>;
	close(): void;
}

const JOB: GoShape = {
	delayTime: "int",
	error: "string",
	executionTime: "int",
	id: "string",
	output: "any",
	retries: "int",
	status: "string",
};
const CANCELLED: GoShape = {
	delayTime: "int",
	error: "string",
	executionTime: "int",
	id: "string",
	status: "string",
};
const HEALTH: GoShape = {
	workers: { running: "int", idle: "int", initializing: "int", ready: "int", throttled: "int" },
	jobs: { inProgress: "int", inQueue: "int", completed: "int", failed: "int", retried: "int" },
};
/** Calls that do not wait have 3 s. */
const SHORT_MS = 3000;

const isCompleted = (status: unknown): boolean =>
	["COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"].includes(status as string);

/** A job that has ended, or has an error, which ends every wait. */
const isOver = ({ status, error }: GoStruct): boolean => isCompleted(status) || error !== undefined;

/** Makes one. Timeouts run on `clock`. */
export function goClient({
	base,
	endpoint,
	key,
	clock,
}: {
	base: string;
	endpoint: string;
	key: string;
	clock: Clock;
}): GoEndpoint {
	const exchange = openExchange(clock);

	async function asked(method: Asked["method"], path: string, timeoutMs: number, body = ""): Promise<string> {
		const length = method === "POST" ? { "Content-Length": String(Buffer.byteLength(body)) } : {};
		const headers = {
			"User-Agent": "Go-http-client/1.1",
			...length,
			Authorization: `Bearer ${key}`,
			"Content-Type": "application/json",
			"Accept-Encoding": "gzip",
		};
		const { answer, fault } = await exchange.ask({
			method,
			url: `${base}/${endpoint}/${path}`,
			headers,
			body,
			timeoutMs,
		});
		if (fault)
			throw new Error(
				fault === "timeout" ? "sls request error: context deadline exceeded" : `sls request error: connection ${fault}`,
			);
		if (answer.status !== 200) throw new Error(`response status ${answer.status} ${answer.reason}`);
		return answer.text;
	}

	const post = async (path: string, shape: GoShape, body?: string): Promise<GoStruct> =>
		unmarshal(await asked("POST", path, SHORT_MS, body), shape);

	/**
	 * `?wait=` and the patience of one call, ms, and a request that ends with the whole time, which
	 * is 3 s more than asked for.
	 */
	function limited(timeout: number): {
		wait: number;
		callMs: number;
		within(request: Promise<string>): Promise<string>;
	} {
		const wait = Math.min(timeout, 90) * 1000;
		const end = clock.now() + (timeout + 3) * 1000;
		return {
			wait,
			callMs: wait + 2000,
			async within(request) {
				request.catch(() => {});
				const answered = new AbortController();
				const late = clock.sleep(end - clock.now(), answered.signal).then(() => {
					if (answered.signal.aborted) return "";
					throw new Error("ctx timeout reached");
				});
				return await Promise.race([request, late]).finally(() => answered.abort());
			},
		};
	}

	async function polled(
		id: string,
		result: GoStruct,
		{ wait, callMs, within }: ReturnType<typeof limited>,
	): Promise<GoStruct> {
		for (;;) {
			unmarshal(await within(asked("POST", `status-sync/${id}?wait=${wait}`, callMs)), JOB, result);
			if (isOver(result)) return result;
		}
	}

	function jobText({ input, ...rest }: GoJobInput): string {
		return marshal({ ...(input && Object.keys(input).length > 0 ? { input } : {}), ...rest });
	}

	return {
		sent: exchange.sent,
		run: (job) => post("run", { id: "string", status: "string" }, jobText(job)),
		async runSync(job, timeout = 90) {
			const limit = limited(timeout);
			const result = unmarshal(await asked("POST", `runsync?wait=${limit.wait}`, limit.callMs, jobText(job)), JOB);
			if (isOver(result)) return result;
			if (result["id"] === undefined)
				throw new Error("panic: runtime error: invalid memory address or nil pointer dereference");
			return await polled(result["id"], result, limit);
		},
		status: (id) => post(`status/${id}`, JOB),
		statusSync: (id, timeout = 90) => polled(id, {}, limited(timeout)),
		async *stream(id, timeout = 90) {
			const { wait, callMs, within } = limited(timeout);
			for (;;) {
				const { stream = [], status } = unmarshal(await within(asked("POST", `stream/${id}?wait=${wait}`, callMs)), {
					status: "string",
					stream: "items",
				});
				yield* stream;
				if (isCompleted(status)) return;
			}
		},
		cancel: (id) => post(`cancel/${id}`, CANCELLED),
		health: async () => unmarshal(await asked("GET", "health", SHORT_MS), HEALTH),
		purgeQueue: () => post("purge-queue", { status: "string", removed: "int" }),
		close: exchange.close,
	};
}
