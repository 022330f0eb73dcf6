/** Calls a running service: address from `SLUICE_URL`, key from `SLUICE_API_KEY` (D36). */
import { request as httpRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { Readable } from "node:stream";
import { CliError, START_SERVICE, failureReason, noServiceAt, notSluiceError } from "./errors.ts";

const DEFAULT_URL = "http://127.0.0.1:8080";

/** A successful response. */
export interface ServiceAnswer {
	text: string;
	json: unknown;
}

/** Calls throw {@link CliError} with the service's error message. */
export interface ServiceClient {
	/** Without trailing slash. */
	base: string;
	/** Throws {@link CliError} if none is set. */
	apiKey(): string;
	request(
		method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
		path: string,
		body?: unknown,
	): Promise<ServiceAnswer>;
	/** Non-empty lines of a streamed response, as they arrive. */
	streamLines(path: string): AsyncIterable<string>;
	/** The body of a POST, whose answer may begin late. */
	download(path: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** The service named by the environment. Empty variables count as unset. */
export function serviceClient(env: Readonly<Record<string, string | undefined>>): ServiceClient {
	const base = (env["SLUICE_URL"] || DEFAULT_URL).replace(/\/+$/, "");

	function apiKey(): string {
		const key = env["SLUICE_API_KEY"];
		if (!key) throw new CliError("Set SLUICE_API_KEY to an API key of the service.");
		return key;
	}

	async function send(
		path: string,
		init: { method?: string; body?: string } = {},
	): Promise<Response> {
		const headers = {
			authorization: `Bearer ${apiKey()}`,
			...(init.body === undefined ? {} : { "content-type": "application/json" }),
		};
		try {
			return await fetch(base + path, { ...init, headers });
		} catch (error) {
			throw new CliError(`${noServiceAt(base, failureReason(error))} ${START_SERVICE}`, 1);
		}
	}

	async function read(response: Response): Promise<ServiceAnswer> {
		const text = await response.text().catch(() => {
			throw connectionLost();
		});
		const json = parseJson(text);
		if (json === undefined) throw notSluiceError(base, response.status);
		if (!response.ok) throw new CliError(errorSentence(json, response.status), 1);
		return { text, json };
	}

	function connectionLost(): CliError {
		return new CliError(`The connection to ${base} was lost.`, 1);
	}

	/** `fetch` gives up after 5 min without an answer. */
	function post(path: string, signal: AbortSignal): Promise<IncomingMessage> {
		const request = base.startsWith("https:") ? httpsRequest : httpRequest;
		const headers = { authorization: `Bearer ${apiKey()}` };
		return new Promise((resolve, reject) => {
			request(base + path, { method: "POST", headers, signal }, resolve)
				.on("error", (error) =>
					reject(new CliError(`${noServiceAt(base, failureReason(error))} ${START_SERVICE}`, 1)),
				)
				.end();
		});
	}

	return {
		base,
		apiKey,
		async request(method, path, body) {
			const init = { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
			return await read(await send(path, init));
		},
		async *streamLines(path) {
			const response = await send(path);
			if (!response.ok) return void (await read(response));
			let rest = "";
			try {
				for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
					const lines = (rest + piece).split("\n");
					rest = lines.pop()!;
					yield* lines.filter((line) => line !== "");
				}
			} catch {
				throw connectionLost();
			}
		},
		async *download(path, signal) {
			const answer = await post(path, signal);
			if (answer.statusCode !== 200) {
				const text = Readable.toWeb(answer) as ReadableStream<Uint8Array>;
				return void (await read(new Response(text, { status: answer.statusCode ?? 502 })));
			}
			try {
				yield* answer;
			} catch {
				throw connectionLost();
			}
		},
	};
}

/** Template tag for paths: escapes strings, inserts a `URLSearchParams` as is. */
export function path(
	texts: TemplateStringsArray,
	...values: readonly (string | URLSearchParams)[]
): string {
	return texts.reduce((before, text, index) => {
		const value = values[index - 1]!;
		return (
			before + (typeof value === "string" ? encodeURIComponent(value) : value.toString()) + text
		);
	});
}

/** The given flags, if set, as a query. */
export function queryOf(
	flags: Readonly<Record<string, string | undefined>>,
	names: readonly string[],
): URLSearchParams {
	return new URLSearchParams(
		names.flatMap((name): [string, string][] =>
			flags[name] === undefined ? [] : [[name, flags[name]]],
		),
	);
}

/** Undefined if it is not JSON. */
export function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** With a line per field if several are wrong. */
function errorSentence(body: unknown, status: number): string {
	const { error, details = [] } = (body ?? {}) as {
		error?: unknown;
		details?: { field: string; message: string }[];
	};
	if (typeof error !== "string") return `The service answered HTTP ${status}.`;
	return details.length < 2
		? error
		: [error, ...details.map(({ field, message }) => `- ${field} ${message}`)].join("\n");
}
