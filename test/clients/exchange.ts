/**
 * One HTTP request with exactly the headers it is given, for the scripted clients: fetch would add
 * its own.
 */
import { Agent, type IncomingHttpHeaders, request } from "node:http";
import type { Clock } from "../../src/kernel/system/clock.ts";

/** What a client sends. */
export interface Asked {
	method: "GET" | "POST";
	url: string;
	headers: Readonly<Record<string, string>>;
	body?: string;
	/** From the start of the request to the end of the answer, ms. */
	timeoutMs: number;
}

/** An answer as it arrived. */
export interface Answer {
	status: number;
	/** The words after the status code. */
	reason: string;
	headers: IncomingHttpHeaders;
	text: string;
}

/** Why there was no answer: no server listens, the connection ended, or the time was over. */
export type Fault = "refused" | "dropped" | "timeout";

/** What came of a request. */
export type Outcome = { answer: Answer; fault?: never } | { fault: Fault; answer?: never };

/** Connections of one client, kept alive, and what went out on them. */
export interface Exchange {
	/** Every request so far. */
	readonly sent: readonly Asked[];
	ask(q: Asked): Promise<Outcome>;
	close(): void;
}

/** Opens one. Timeouts run on `clock`. */
export function openExchange(clock: Clock): Exchange {
	const agent = new Agent({ keepAlive: true });
	const sent: Asked[] = [];

	function once(q: Asked): Promise<Outcome> {
		const { promise, resolve } = Promise.withResolvers<Outcome>();
		const over = new AbortController();
		const headers = { Host: new URL(q.url).host, ...q.headers };
		const req = request(q.url, { method: q.method, agent, headers, setDefaultHeaders: false }, (res) => {
			const pieces: Buffer[] = [];
			res.on("data", (piece: Buffer) => pieces.push(piece));
			res.on("error", () => resolve({ fault: "dropped" }));
			res.on("end", () =>
				resolve({
					answer: {
						status: res.statusCode!,
						reason: res.statusMessage!,
						headers: res.headers,
						text: Buffer.concat(pieces).toString("utf8"),
					},
				}),
			);
		});
		req.on("error", (error: NodeJS.ErrnoException) =>
			resolve({ fault: error.code === "ECONNREFUSED" ? "refused" : "dropped" }),
		);
		req.end(q.body);
		void clock.sleep(q.timeoutMs, over.signal).then(() => {
			if (over.signal.aborted) return;
			resolve({ fault: "timeout" });
			req.destroy();
		});
		return promise.finally(() => over.abort());
	}

	return {
		sent,
		ask(q) {
			sent.push(q);
			return once(q);
		},
		close: () => agent.destroy(),
	};
}
