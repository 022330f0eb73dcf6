/** Calls a running service (D36). */
import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { text as textOf } from "node:stream/consumers";
import type { Connection } from "./connection.ts";
import { CliError, noServiceError, notSluiceError } from "./errors.ts";
import { errorCode, serviceError } from "./service-error.ts";

export interface ServiceAnswer {
	text: string;
	json: unknown;
}

export interface UploadBody {
	headers: Readonly<Record<string, string>>;
	pieces: AsyncIterable<Uint8Array>;
}

/** Calls throw {@link CliError} with the service's error message. */
export type ServiceClient = ReturnType<typeof serviceClient>;

/** `connection` throws {@link CliError} if a context cannot be read. */
export function serviceClient(connection: () => Connection) {
	function apiKey(): string {
		const { key } = connection();
		if (!key) throw new CliError("No API key: set SLUICE_API_KEY, pass --key, or store one with 'sluice context add'.");
		return key;
	}

	async function send(method: string, path: string, body?: unknown): Promise<Response> {
		const { base } = connection();
		const authorization = `Bearer ${apiKey()}`;
		const init =
			body === undefined
				? { headers: { authorization } }
				: { headers: { authorization, "content-type": "application/json" }, body: JSON.stringify(body) };
		return await fetch(base + path, { method, ...init }).catch((error: unknown) => {
			throw noServiceError(base, error);
		});
	}

	/** Does not use `fetch`, which gives up after 5 min without an answer. */
	function begun(method: string, path: string, more: { signal?: AbortSignal | undefined; headers?: object } = {}) {
		const { base } = connection();
		const request = base.startsWith("https:") ? httpsRequest : httpRequest;
		const headers = { authorization: `Bearer ${apiKey()}`, ...more.headers };
		const sent = request(base + path, { method, headers, ...(more.signal && { signal: more.signal }) });
		const answered = new Promise<IncomingMessage>((resolve, reject) => {
			sent.on("response", resolve).on("error", (error) => reject(noServiceError(base, error)));
		});
		return { sent, answered };
	}

	async function read(status: number, body: Promise<string>): Promise<ServiceAnswer> {
		const { base, keyFrom } = connection();
		const text = await body.catch(connectionLost);
		const json = status === 204 ? {} : parseJson(text);
		if (json === undefined) throw notSluiceError(base, status);
		if (status < 200 || status > 299)
			throw new CliError(serviceError(json, { status, keyFrom }), 1, status, errorCode(json));
		return { text, json };
	}

	function connectionLost(): never {
		throw new CliError(`The connection to ${connection().base} was lost.`, 1);
	}

	return {
		connection,
		apiKey,
		async request(method: string, path: string, body?: unknown): Promise<ServiceAnswer> {
			const response = await send(method, path, body);
			return await read(response.status, response.text());
		},
		async *streamLines(path: string): AsyncGenerator<string> {
			const response = await send("GET", path);
			if (!response.ok) return void (await read(response.status, response.text()));
			let rest = "";
			try {
				for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
					const lines = (rest + piece).split("\n");
					rest = lines.pop()!;
					yield* lines.filter((line) => line !== "");
				}
			} catch {
				connectionLost();
			}
		},
		/** Sends a body of any size. Throws the errors of `pieces`. */
		async upload(path: string, { headers, pieces }: UploadBody): Promise<ServiceAnswer> {
			const { sent, answered } = begun("POST", path, { headers });
			try {
				const answer = await Promise.race([answered, written(sent, pieces, answered).then(() => answered)]);
				return await read(answer.statusCode!, textOf(answer));
			} finally {
				sent.destroy();
			}
		},
		async *download(method: "GET" | "POST", path: string, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
			const { sent, answered } = begun(method, path, { signal });
			sent.end();
			const answer = await answered;
			if (answer.statusCode !== 200) return void (await read(answer.statusCode!, textOf(answer)));
			try {
				yield* answer;
			} catch {
				connectionLost();
			}
		},
	};
}

/** Stops when the answer arrives, which may refuse the rest. */
async function written(sent: ClientRequest, pieces: UploadBody["pieces"], answered: Promise<unknown>): Promise<void> {
	let isAnswered = false;
	const over = answered.then(
		() => void (isAnswered = true),
		() => void (isAnswered = true),
	);
	for await (const piece of pieces) {
		if (!sent.write(piece)) await Promise.race([once(sent, "drain").catch(() => {}), over]);
		if (isAnswered) return;
	}
	sent.end();
}

/** Escapes strings in a path. Inserts a `URLSearchParams` as is. */
export function path(texts: TemplateStringsArray, ...values: readonly (string | URLSearchParams)[]): string {
	return texts.reduce((before, text, index) => {
		const value = values[index - 1]!;
		return before + (typeof value === "string" ? encodeURIComponent(value) : value.toString()) + text;
	});
}

export function queryOf(
	flags: Readonly<Record<string, string | undefined>>,
	names: readonly string[],
): URLSearchParams {
	const set = names.flatMap((name): [string, string][] => (flags[name] === undefined ? [] : [[name, flags[name]]]));
	return new URLSearchParams(set);
}

export function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}
