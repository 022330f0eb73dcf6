/** Requests of clients and workers over connections that stay open, and what their answers mean. */
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import { FINAL_STATES, type JobState } from "../../src/kernel/core/jobs/job-states.ts";
import { KEY } from "../support/service.ts";
import { brief, type Result, type Seen } from "./history.ts";

export interface Answer {
	result: Result;
	from: number;
	to: number;
	status: number | undefined;
	/** Parsed JSON; undefined if there is none. */
	json: any;
	text: string;
	next: string | undefined;
	/** The header `ETag` without its quotes. */
	etag?: string;
}

export interface Call {
	method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
	body?: string;
	headers?: Record<string, string>;
	/** A worker's; by default the admin key. */
	token?: string;
	signal?: AbortSignal;
}

export interface Api {
	/** The server that a client uses after so many failures. */
	readonly url: (turn: number) => string;
	call(url: string, q?: Call): Promise<Answer>;
	/** Status, and what of the body arrived before the connection ended, however. */
	open(
		url: string,
		headers: Record<string, string>,
		q?: Pick<Call, "body" | "signal">,
	): Promise<{ status?: number; text: string }>;
	close(): Promise<void>;
}

/** Longest wait for an answer, ms: longer than a held poll. */
const ANSWER_MS = 120_000;

/** Pause where no server listens, ms. */
const REFUSED_MS = 150;

const JSON_TYPE = { "content-type": "application/json" };

const now = (): number => performance.now();

/** Breaks connections: whether this request's is broken, and after how many ms. */
export type Cuts = () => number | undefined;

export function api(urls: () => readonly string[], cuts: Cuts = () => undefined): Api {
	const dispatcher = new Agent({
		connections: 512,
		pipelining: 1,
		headersTimeout: ANSWER_MS,
		bodyTimeout: ANSWER_MS,
		keepAliveTimeout: 60_000,
	});
	const withCut = (signal?: AbortSignal): { signal?: AbortSignal } => {
		const ms = cuts();
		const cut = ms === undefined ? [] : [AbortSignal.timeout(ms)];
		const all = signal ? [signal, ...cut] : cut;
		return all.length === 0 ? {} : { signal: AbortSignal.any(all) };
	};
	return {
		url(turn) {
			const all = urls();
			return all[turn % all.length]!;
		},
		async call(url, { method, body, headers, token = `Bearer ${KEY}`, signal } = {}) {
			const from = now();
			try {
				const answer = await request(url, {
					dispatcher,
					method: method ?? (body === undefined ? "GET" : "POST"),
					headers: { authorization: token, ...JSON_TYPE, ...headers },
					...(body === undefined ? {} : { body }),
					...withCut(signal),
				});
				const text = await answer.body.text();
				const { statusCode: status } = answer;
				const result = status < 300 ? "ok" : status < 500 ? "fail" : "unknown";
				// The files of a batch are many values.
				const isOne = answer.headers["content-type"] !== "application/jsonl";
				const isJson = isOne && (text.startsWith("{") || text.startsWith("["));
				const next = answer.headers["sluice-next-offset"] as string | undefined;
				const etag = answer.headers["etag"] as string | undefined;
				return {
					result,
					from,
					to: now(),
					status,
					text,
					next,
					json: isJson ? JSON.parse(text) : undefined,
					...(etag !== undefined && { etag: etag.replaceAll('"', "") }),
				};
			} catch (error) {
				const refused = (error as { code?: string }).code === "ECONNREFUSED";
				const result = refused ? "fail" : "unknown";
				const to = now();
				if (refused) await sleep(REFUSED_MS);
				return { result, from, to, status: undefined, text: "", next: undefined, json: undefined };
			}
		},
		async open(url, headers, { body, signal } = {}) {
			let status: number | undefined;
			const pieces: Buffer[] = [];
			try {
				const answer = await request(url, {
					dispatcher,
					method: body === undefined ? "GET" : "POST",
					headers: { authorization: `Bearer ${KEY}`, ...(body !== undefined && JSON_TYPE), ...headers },
					...(body === undefined ? {} : { body }),
					...withCut(signal),
				});
				status = answer.statusCode;
				for await (const piece of answer.body) pieces.push(piece as Buffer);
			} catch {
				// The connection broke: what arrived is what the reader has.
			}
			const text = Buffer.concat(pieces).toString();
			return { text, ...(status === undefined ? {} : { status }) };
		},
		close: () => dispatcher.destroy(),
	};
}

/** Characters of an error that are recorded. */
const ERROR = 60;

/** A job object (D6) as the history has it; undefined for another answer. */
export function seenOf(json: any): Seen | undefined {
	if (typeof json?.status !== "string") return undefined;
	const state = json.status as JobState;
	if (!(FINAL_STATES as readonly string[]).includes(state)) return { state };
	return {
		state,
		...(json.output === undefined ? {} : { output: brief(JSON.stringify(json.output)) }),
		...(json.error === undefined ? {} : { error: String(json.error).slice(0, ERROR) }),
		delayTime: json.delayTime,
		executionTime: json.executionTime,
		retries: json.retries ?? 0,
	};
}

/** The answer to a caller that waits while the queue is purged (D11). */
export function isPurged(json: any): boolean {
	return json?.status === "CANCELLED" && /purged|removed/.test(String(json.error));
}
