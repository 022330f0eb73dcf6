/**
 * The requests of a RunPod SDK worker, one call each, as its Python code sends them (protocol
 * B.1, B.2, B.6): addresses from the templates in its environment, its headers, its form label on
 * JSON. Knows nothing of jobs.
 */
import type { Agent as HttpAgent, OutgoingHttpHeaders } from "node:http";
import { Agent, request } from "./transport.ts";

/** An answer as it arrived. */
export interface Answer {
	status: number;
	/** Content type without parameters, "" when absent. */
	type: string;
	text: string;
}

/** A request as it was sent, for comparing with traces. */
export interface Sent {
	method: "GET" | "POST";
	/** Path and query. */
	path: string;
	headers: OutgoingHttpHeaders;
	body: string;
}

/** What a worker posts: JSON text or bytes with `Content-Length`, or pieces sent as chunks. */
export type Body = string | Uint8Array | Iterable<string | Uint8Array>;

/**
 * One worker's requests. Every call makes one request; it rejects when the connection fails or the
 * signal aborts.
 */
export interface SdkProtocol {
	/** Worker id. */
	readonly id: string;
	readonly endpoint: string;
	/** The variables it was started with. */
	readonly env: Readonly<Record<string, string>>;
	/** The SDK version it says it is. */
	readonly version: string;
	/** Every request so far. */
	readonly sent: readonly Sent[];
	/** Requests that have no answer yet. */
	readonly open: number;
	take(q?: { busy?: boolean; signal?: AbortSignal }): Promise<Answer>;
	takeBatch(q: { size: number; busy?: boolean; signal?: AbortSignal }): Promise<Answer>;
	stop(q?: { signal?: AbortSignal }): Promise<Answer>;
	/** A result or progress; text and bytes go out as they are, other values as JSON. */
	done(job: string, body: unknown, q?: { stream?: boolean; signal?: AbortSignal }): Promise<Answer>;
	chunk(job: string, body: unknown, q?: { signal?: AbortSignal }): Promise<Answer>;
	/** A post in pieces (chunked transfer) or with a length that is said before the body follows. */
	doneRaw(job: string, body: Body): Promise<Answer>;
	ping(named?: readonly string[]): Promise<Answer>;
	/** The report of a worker that failed a fitness check (B.10). */
	unfit(check: string, reason: string): Promise<Answer>;
	/** Closes its connections. */
	close(): void;
}

/**
 * Speaks for the worker that these variables describe. `version` decides the user agent and what
 * pings say.
 */
export function sdkProtocol(env: Readonly<Record<string, string>>, { version = "1.12.0" } = {}): SdkProtocol {
	const { RUNPOD_POD_ID: id = "", RUNPOD_AI_API_KEY: key = "", RUNPOD_WEBHOOK_GET_JOB: getJob = "" } = env;
	const session = new Agent({ keepAlive: true });
	const pings = new Agent({ keepAlive: false });
	const sent: Sent[] = [];
	const takeUrl = getJob.replace("$ID", id);
	let lastPosted: string | undefined;
	let open = 0;

	function send(q: {
		method: Sent["method"];
		url: string;
		agent: HttpAgent;
		headers: OutgoingHttpHeaders;
		body?: Body;
		signal?: AbortSignal | undefined;
	}): Promise<Answer> {
		const url = new URL(q.url);
		const whole = typeof q.body === "string" || q.body instanceof Uint8Array ? q.body : undefined;
		const headers = {
			...q.headers,
			...(whole === undefined ? {} : { "Content-Length": Buffer.byteLength(whole) }),
		};
		sent.push({
			method: q.method,
			path: url.pathname + url.search,
			headers,
			body: typeof whole === "string" ? whole : "",
		});
		open += 1;
		const answered = new Promise<Answer>((resolve, reject) => {
			const req = request(
				url,
				{ method: q.method, agent: q.agent, headers, ...(q.signal ? { signal: q.signal } : {}) },
				(res) => {
					const pieces: Buffer[] = [];
					res.on("data", (piece: Buffer) => pieces.push(piece));
					res.on("error", reject);
					res.on("end", () =>
						resolve({
							status: res.statusCode ?? 0,
							type: (res.headers["content-type"] ?? "").split(";")[0]!,
							text: Buffer.concat(pieces).toString("utf8"),
						}),
					);
				},
			);
			req.on("error", reject);
			if (whole !== undefined) req.end(whole);
			else {
				for (const piece of (q.body ?? []) as Iterable<string | Uint8Array>) req.write(piece);
				req.end();
			}
		});
		return answered.finally(() => (open -= 1));
	}

	function sessionHeaders(): OutgoingHttpHeaders {
		return {
			"Content-Type": "application/json",
			Authorization: key,
			"User-Agent": `RunPod-Python-SDK/${version} (Linux 6.1; x86_64) Language/Python 3.11.2`,
			"Accept-Encoding": "gzip, deflate",
			Accept: "*/*",
			...(lastPosted === undefined ? {} : { "X-Request-ID": lastPosted }),
		};
	}

	const get = (url: string, signal?: AbortSignal): Promise<Answer> =>
		send({ method: "GET", url, agent: session, headers: sessionHeaders(), signal });

	function post(q: {
		template: string;
		job: string;
		stream: boolean;
		body: Body;
		signal?: AbortSignal | undefined;
	}): Promise<Answer> {
		lastPosted = q.job;
		const url = `${q.template.replace("$RUNPOD_POD_ID", id).replace("$ID", q.job)}&isStream=${q.stream}`;
		const headers = {
			...sessionHeaders(),
			charset: "utf-8",
			"Content-Type": "application/x-www-form-urlencoded",
		};
		return send({ method: "POST", url, agent: session, headers, body: q.body, signal: q.signal });
	}

	function pinged(query: string): Promise<Answer> {
		const url = (env["RUNPOD_WEBHOOK_PING"] ?? "").replace("$RUNPOD_POD_ID", id);
		const headers = {
			Authorization: key,
			"User-Agent": "python-requests/2.28.1",
			"Accept-Encoding": "gzip, deflate",
			Accept: "*/*",
		};
		return send({
			method: "GET",
			url: `${url}${url.includes("?") ? "&" : "?"}${query}runpod_version=${version}`,
			agent: pings,
			headers,
		});
	}

	const text = (body: unknown): Body =>
		typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
	const outputTemplate = env["RUNPOD_WEBHOOK_POST_OUTPUT"] ?? "";

	return {
		id,
		endpoint: env["RUNPOD_ENDPOINT_ID"] ?? "",
		env,
		version,
		sent,
		get open() {
			return open;
		},
		take: ({ busy = false, signal } = {}) => get(`${takeUrl}&job_in_progress=${busy ? 1 : 0}`, signal),
		takeBatch: ({ size, busy = false, signal }) =>
			get(
				`${takeUrl.replace("/job-take/", "/job-take-batch/")}&batch_size=${size}&job_in_progress=${busy ? 1 : 0}`,
				signal,
			),
		stop: ({ signal } = {}) => get(takeUrl.replace("/job-take/", "/job-stop/"), signal),
		done: (job, body, { stream = false, signal } = {}) =>
			post({ template: outputTemplate, job, stream, body: text(body), signal }),
		// Chunks say isStream=false, and so it stands in the traces.
		chunk: (job, body, { signal } = {}) =>
			post({
				template: env["RUNPOD_WEBHOOK_POST_STREAM"] ?? "",
				job,
				stream: false,
				body: text(body),
				signal,
			}),
		doneRaw: (job, body) => post({ template: outputTemplate, job, stream: false, body }),
		ping: (named = []) => pinged(named.length === 0 ? "" : `job_id=${encodeURIComponent(named.join(","))}&`),
		unfit: (check, reason) =>
			pinged(`${new URLSearchParams({ status: "unhealthy", check, reason: reason.slice(0, 256) }).toString()}&`),
		close() {
			session.destroy();
			pings.destroy();
		},
	};
}
