/** Sends requests to the bucket: signed, in path style, with Content-Length, repeated a few times (D61). */
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import type { Agent, Dispatcher } from "undici";
import { StoreUnavailable } from "../../../kernel/store/contract/store.ts";
import type { Clock } from "../../../kernel/system/clock.ts";
import { isPassing, isTimeout, Refusal, unavailable } from "./refusal.ts";
import type { BucketSettings } from "./settings.ts";
import { NO_BODY, queryText, signedHeaders } from "./sign.ts";
import { textOf } from "./xml.ts";

/** Waits before each repetition, ms. */
const RETRY_MS = [200, 1000, 3000] as const;

const CONNECT_MS = 10_000;
/** A connection may be silent for this time, also before an answer, ms. */
const IDLE_MS = 30_000;

const SLICE_BYTES = 256 * 1024;

/** An answer to a list of 1,000 names has 0.5 MB. */
const MOST_TEXT_BYTES = 4 * 2 ** 20;
const MOST_ERROR_BYTES = 64 * 1024;

export interface BucketRequest {
	method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
	/** Empty for the bucket itself. */
	key: string;
	query?: Readonly<Record<string, string>>;
	/** Must stay as it is until the call is settled. */
	body?: Uint8Array;
	range?: string;
	signal?: AbortSignal | undefined;
	/** It is sent only once. */
	once?: boolean;
	/** The connection may be silent for this time before the answer, ms. */
	answerMs?: number;
}

export type Answer = Dispatcher.ResponseData;

export type BucketClient = ReturnType<typeof bucketClient>;

/** Calls reject with {@link Refusal} for an answer that is no success, and with `StoreUnavailable` without one. */
export function bucketClient(settings: BucketSettings, clock: Pick<Clock, "sleep" | "wall">) {
	const { origin, host, pathname } = new URL(settings.url);
	const base = `${pathname.replace(/\/$/, "")}/${settings.name}`;
	const name = `${settings.url}/${settings.name}`;
	let agent: Promise<Agent> | undefined;

	const opened = (): Promise<Agent> =>
		(agent ??= import("undici").then(
			({ Agent: Made }) =>
				new Made({ connect: { timeout: CONNECT_MS }, headersTimeout: IDLE_MS, bodyTimeout: IDLE_MS }),
		));

	async function send({ method, key, query = {}, body, range, signal, answerMs }: BucketRequest): Promise<Answer> {
		const path = key === "" ? base : `${base}/${key}`;
		const payload = body ? await sha256(body) : NO_BODY;
		const signed = signedHeaders({ method, host, path, query, payload }, settings, clock.wall());
		const hasBody = method === "PUT" || method === "POST";
		const answer = await (await opened()).request({
			origin,
			method,
			path: Object.keys(query).length === 0 ? path : `${path}?${queryText(query)}`,
			headers: {
				...signed,
				...(range !== undefined && { range }),
				...(hasBody && { "content-length": String(body?.length ?? 0) }),
			},
			...(body && body.length > 0 && { body: Readable.from(slices(body), { objectMode: false }) }),
			...(signal && { signal }),
			...(answerMs !== undefined && { headersTimeout: answerMs }),
		});
		if (answer.statusCode >= 200 && answer.statusCode < 300) return answer;
		const text = await read(answer, MOST_ERROR_BYTES);
		const code = textOf(text, "Code") ?? "";
		throw new Refusal(answer.statusCode, /^[A-Za-z0-9.]{1,64}$/.test(code) ? code : "");
	}

	async function call<T>(q: BucketRequest, use: (answer: Answer) => Promise<T>): Promise<T> {
		for (let repeats = 0; ; repeats += 1) {
			try {
				return await use(await send(q));
			} catch (error) {
				if (q.signal?.aborted) throw new StoreUnavailable("closed", `The call of the bucket ${name} was given up.`);
				if (error instanceof Refusal && !isPassing(error)) throw error;
				const isLast = q.once || repeats === RETRY_MS.length || isTimeout(error);
				if (isLast || !isPassing(error)) throw unavailable(error, name, q.method);
			}
			await clock.sleep(RETRY_MS[repeats]!, q.signal);
		}
	}

	return {
		/** Address and name of the bucket. */
		name,
		/** Resolves when the headers have arrived; the caller reads the body, or destroys it. */
		open: (q: BucketRequest): Promise<Answer> => call(q, async (answer) => answer),
		/** Reads the whole answer. */
		text: (q: BucketRequest): Promise<{ text: string; headers: Answer["headers"] }> =>
			call(q, async (answer) => ({ text: await read(answer, MOST_TEXT_BYTES), headers: answer.headers })),
		async close(): Promise<void> {
			await (await agent)?.destroy();
		},
	};
}

/** In slices, so that a slow connection is not taken for a silent one. */
async function* slices(body: Uint8Array): AsyncGenerator<Uint8Array> {
	for (let at = 0; at < body.length; at += SLICE_BYTES) yield body.subarray(at, at + SLICE_BYTES);
}

/** Lets others run between two slices: 5 MiB take some ms. */
async function sha256(body: Uint8Array): Promise<string> {
	const hash = createHash("sha256");
	for (let at = 0; at < body.length; at += SLICE_BYTES) {
		if (at > 0) await new Promise((resolve) => setImmediate(resolve));
		hash.update(body.subarray(at, at + SLICE_BYTES));
	}
	return hash.digest("hex");
}

async function read({ body }: Answer, most: number): Promise<string> {
	const pieces: Buffer[] = [];
	let bytes = 0;
	for await (const piece of body as AsyncIterable<Buffer>) {
		bytes += piece.length;
		// Leaving the loop destroys the body.
		if (bytes > most) break;
		pieces.push(piece);
	}
	return Buffer.concat(pieces).toString();
}
