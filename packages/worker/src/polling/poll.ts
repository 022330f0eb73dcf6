/** Long polls for job-take and job-stop on their own connection (protocol B.2). */
import { Client, buildConnector, type Dispatcher } from "undici";
import type { Socket } from "node:net";
import type { Clock } from "../clock.ts";

export type PollAnswer =
	| {
			kind: "answer";
			status: number;
			json: boolean;
			text: string;
			/** Maximum results per post, 0 if the answer does not contain it. */
			resultBatch: number;
			chunkBatch: number;
			/** Whether the service takes jobs back (D54). */
			takesReturns: boolean;
	  }
	| { kind: "cut" }
	/** `stale`: an established connection was closed, as happens to idle ones. */
	| { kind: "failed"; stale: boolean; reason: string };

/** One request at a time. */
export interface Poll {
	get(path: string): Promise<PollAnswer>;
	/**
	 * Ends the open poll without losing an answer in flight, at the latest after `graceMs`. Half-closes the connection
	 * unless the answer has begun. No `get` afterwards.
	 */
	hangUp(graceMs: number): Promise<void>;
}

/** `headers` in undici's flat form. */
export interface PollOptions {
	origin: string;
	headers: string[];
	timeoutMs: number;
	clock: Clock;
}

export function openPoll({ origin, headers, timeoutMs, clock }: PollOptions): Poll {
	let socket: Socket | undefined;
	let open: { handler: PollHandler; answer: Promise<PollAnswer> } | undefined;
	let ended = false;
	const dial = buildConnector({ allowH2: false });
	const client = new Client(origin, {
		allowH2: false,
		pipelining: 1,
		headersTimeout: timeoutMs,
		bodyTimeout: timeoutMs,
		connect: (options, done) =>
			dial(options, (error, connected) => {
				if (error) return done(error, null);
				socket = connected;
				if (ended) connected.end();
				done(null, connected);
			}),
	});

	return {
		async get(path) {
			if (ended) return { kind: "failed", stale: false, reason: "the poll was ended" };
			const handler = new PollHandler();
			open = { handler, answer: handler.answer };
			client.dispatch({ path, method: "GET", headers }, handler);
			const answer = await handler.answer;
			open = undefined;
			return answer;
		},
		async hangUp(graceMs) {
			if (!ended && open) {
				if (open.handler.status === 0) socket?.end();
				const answered = new AbortController();
				void open.answer.then(() => answered.abort());
				ended = true;
				await clock.sleep(graceMs, answered.signal);
				if (open?.handler.status) await open.answer;
			}
			ended = true;
			await client.destroy();
		},
	};
}

class PollHandler implements Dispatcher.DispatchHandler {
	readonly answer: Promise<PollAnswer>;
	status = 0;
	private resolve!: (answer: PollAnswer) => void;
	private json = false;
	private resultBatch = 0;
	private chunkBatch = 0;
	private takesReturns = false;
	private chunks: Buffer[] = [];

	constructor() {
		this.answer = new Promise((resolve) => {
			this.resolve = resolve;
		});
	}

	onRequestStart(): void {}

	onResponseStart(
		_controller: Dispatcher.DispatchController,
		status: number,
		headers: Record<string, string | string[] | undefined>,
	): void {
		this.status = status;
		this.json = String(headers["content-type"]).toLowerCase().startsWith("application/json");
		this.resultBatch = Number(headers["sluice-job-done-batch"] ?? 0) || 0;
		this.chunkBatch = Number(headers["sluice-job-stream-batch"] ?? 0) || 0;
		this.takesReturns = headers["sluice-job-return"] === "1";
	}

	onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
		this.chunks.push(chunk);
	}

	onResponseEnd(): void {
		this.resolve({
			kind: "answer",
			status: this.status,
			json: this.json,
			text: (this.chunks.length === 1 ? this.chunks[0]! : Buffer.concat(this.chunks)).toString(),
			resultBatch: this.resultBatch,
			chunkBatch: this.chunkBatch,
			takesReturns: this.takesReturns,
		});
	}

	onResponseError(_controller: Dispatcher.DispatchController, error: Error & { code?: string }): void {
		const code = error.code ?? "";
		if (code === "UND_ERR_HEADERS_TIMEOUT" || code === "UND_ERR_BODY_TIMEOUT") return this.resolve({ kind: "cut" });
		const stale = code === "UND_ERR_SOCKET" || code === "ECONNRESET" || code === "EPIPE";
		this.resolve({ kind: "failed", stale, reason: error.message || code });
	}
}
