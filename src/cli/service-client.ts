/** Calls a running service (D36). */
import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { Readable } from "node:stream";
import type { Connection } from "./connection.ts";
import { CliError, START_SERVICE, failureReason, noServiceAt, notSluiceError } from "./errors.ts";
import { serviceError } from "./service-error.ts";

/** A successful response. */
export interface ServiceAnswer {
	text: string;
	json: unknown;
}

/** Calls throw {@link CliError} with the service's error message. */
export interface ServiceClient {
	/** Address, key, and where the key is from. */
	connection(): Connection;
	/** Throws {@link CliError} if none is set. */
	apiKey(): string;
	request(method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: unknown): Promise<ServiceAnswer>;
	/** Non-empty lines of a streamed response, as they arrive. */
	streamLines(path: string): AsyncIterable<string>;
	/** The body of a POST, whose answer may begin late. */
	download(path: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** `connection` throws {@link CliError} if a context cannot be read. */
export function serviceClient(connection: () => Connection): ServiceClient {
	function apiKey(): string {
		const { key } = connection();
		if (key === undefined || key === "")
			throw new CliError("No API key: set SLUICE_API_KEY, pass --key, or store one with 'sluice context add'.");
		return key;
	}

	async function send(path: string, init: { method?: string; body?: string } = {}): Promise<Response> {
		const { base } = connection();
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
		const { base, keyFrom } = connection();
		const { status } = response;
		const text = await response.text().catch(() => {
			throw connectionLost();
		});
		const json = parseJson(text);
		if (json === undefined) throw notSluiceError(base, status);
		if (!response.ok) throw new CliError(serviceError(json, { status, keyFrom }), 1);
		return { text, json };
	}

	function connectionLost(): CliError {
		return new CliError(`The connection to ${connection().base} was lost.`, 1);
	}

	/** `fetch` gives up after 5 min without an answer. */
	function post(path: string, signal: AbortSignal): Promise<IncomingMessage> {
		const { base } = connection();
		const request = base.startsWith("https:") ? httpsRequest : httpRequest;
		const headers = { authorization: `Bearer ${apiKey()}` };
		return new Promise((resolve, reject) => {
			request(base + path, { method: "POST", headers, signal }, resolve)
				.on("error", (error) => reject(new CliError(`${noServiceAt(base, failureReason(error))} ${START_SERVICE}`, 1)))
				.end();
		});
	}

	return {
		connection,
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
export function path(texts: TemplateStringsArray, ...values: readonly (string | URLSearchParams)[]): string {
	return texts.reduce((before, text, index) => {
		const value = values[index - 1]!;
		return before + (typeof value === "string" ? encodeURIComponent(value) : value.toString()) + text;
	});
}

/** The given flags, if set, as a query. */
export function queryOf(
	flags: Readonly<Record<string, string | undefined>>,
	names: readonly string[],
): URLSearchParams {
	return new URLSearchParams(
		names.flatMap((name): [string, string][] => (flags[name] === undefined ? [] : [[name, flags[name]]])),
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
