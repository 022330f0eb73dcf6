/**
 * Calls a running service for commands: address from `SLUICE_URL`, key from `SLUICE_API_KEY` (D36).
 */
import { CliError } from "./command.ts";

const DEFAULT_URL = "http://127.0.0.1:8080";

/** The body of a success: as it came, and read. */
export interface ServiceAnswer {
	text: string;
	json: unknown;
}

/** A running service. */
export interface ServiceClient {
	/** Its address, without a slash at the end. */
	base: string;
	/**
	 * Sends a request, with a JSON body if one is given; throws {@link CliError} with the service's
	 * own sentence when it refuses.
	 */
	ask(
		method: "GET" | "POST" | "PATCH" | "DELETE",
		path: string,
		body?: unknown,
	): Promise<ServiceAnswer>;
	/** The lines of an answer as they come, empty ones left out; throws as {@link ask} does. */
	lines(path: string): AsyncIterable<string>;
}

/** The service that the environment names; an empty variable is one that is not set. */
export function callService(env: Readonly<Record<string, string | undefined>>): ServiceClient {
	const base = (env["SLUICE_URL"] || DEFAULT_URL).replace(/\/+$/, "");
	const key = env["SLUICE_API_KEY"];

	/** Runs a request with the key; no connection becomes a sentence. */
	async function connected<T>(
		request: (headers: Record<string, string>) => Promise<T>,
	): Promise<T> {
		if (!key) throw new CliError("Set SLUICE_API_KEY to an API key of the service.");
		try {
			return await request({ authorization: `Bearer ${key}` });
		} catch (error) {
			const { cause } = error as Error;
			throw new CliError(
				`No service answers at ${base} (${cause instanceof Error ? cause.message : String(error)}). Start it with 'sluice serve', or set SLUICE_URL.`,
				1,
			);
		}
	}

	/** The body of a success; throws for a refusal, and for what is no answer of the service. */
	function read({ ok, status }: Response, text: string): ServiceAnswer {
		const json = parsed(text);
		if (json === undefined)
			throw new CliError(
				`What answers at ${base} is not Sluice (HTTP ${status}). Set SLUICE_URL to the address of the service.`,
				1,
			);
		if (!ok) throw new CliError(refusal(json, status), 1);
		return { text, json };
	}

	return {
		base,
		async ask(method, target, body) {
			const { response, text } = await connected(async (headers) => {
				const answer = await fetch(base + target, {
					method,
					headers: {
						...headers,
						...(body === undefined ? {} : { "content-type": "application/json" }),
					},
					...(body === undefined ? {} : { body: JSON.stringify(body) }),
				});
				return { response: answer, text: await answer.text() };
			});
			return read(response, text);
		},
		async *lines(target) {
			const response = await connected((headers) => fetch(base + target, { headers }));
			if (!response.ok) return void read(response, await response.text());
			let rest = "";
			try {
				for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
					const lines = (rest + piece).split("\n");
					rest = lines.pop()!;
					yield* lines.filter((line) => line !== "");
				}
			} catch {
				throw new CliError(`The connection to ${base} was lost.`, 1);
			}
		},
	};
}

/** A path of the service, what is put in made safe for it; a `URLSearchParams` stays as it is. */
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

/** The flags of these names as a query, those that were not given left out. */
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

function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** The sentence of a refusal; where several fields are bad, each of them. */
function refusal(body: unknown, status: number): string {
	const { error, details = [] } = (body ?? {}) as {
		error?: unknown;
		details?: { field: string; message: string }[];
	};
	if (typeof error !== "string") return `The service answered ${status}.`;
	return details.length < 2
		? error
		: [error, ...details.map(({ field, message }) => `- ${field} ${message}`)].join("\n");
}
