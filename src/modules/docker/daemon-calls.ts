/** Calls of a Docker daemon, and why they fail. */
import { type IncomingMessage, request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import { pipeline, type Readable } from "node:stream";
import { PlatformUnavailable } from "../../kernel/launchers/launcher.ts";
import { refusalText, textOf } from "../../kernel/launchers/platform-streams.ts";
import type { Connection } from "./hosts/connection.ts";

const UNANSWERED = ["ENOENT", "ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND", "ETIMEDOUT"];

/**
 * Maximum wait for an answer, ms: a daemon that hangs on one container still answers the host's checks. Slow disks
 * take minutes.
 */
const CALL_MS = 180_000;

class Refusal extends Error {
	readonly status: number;

	constructor(status: number, message: string) {
		super(message);
		this.status = status;
	}
}

/** The daemon counts as unreachable: its calls fail at once. */
export class Unreachable extends PlatformUnavailable {}

interface Call {
	query?: Record<string, string> | [name: string, value: string][];
	body?: unknown;
	/** Sent as it is, in place of `body`. */
	content?: Readable;
	headers?: Record<string, string> | undefined;
	signal?: AbortSignal;
	/** Also while the session is aborted. */
	always?: true;
}

/**
 * Connects on the first call. When the signal of `session` is aborted, all calls but those `always` fail with its
 * reason.
 */
export function daemonCalls(connection: Connection, session?: () => AbortSignal) {
	const { address, secure } = connection;

	/** Calls the daemon; resolves when the headers have arrived. Throws {@link Refusal}. */
	async function answerTo(method: string, path: string, q: Call = {}): Promise<IncomingMessage> {
		const text = q.body === undefined ? undefined : JSON.stringify(q.body);
		const signals = [q.signal, q.always ? undefined : session?.()].filter((each) => each !== undefined);
		const signal = AbortSignal.any(signals);
		signal.throwIfAborted();
		const options = await unlessAborted(connection.options(), signal);
		const answer = await new Promise<IncomingMessage>((resolve, reject) => {
			const send = secure ? secureRequest : plainRequest;
			const request = send({
				...options,
				method,
				path: q.query ? `${path}?${String(new URLSearchParams(q.query))}` : path,
				headers: {
					...(text !== undefined && { "content-type": "application/json" }),
					...q.headers,
				},
				signal,
			});
			request.once("response", resolve);
			request.on("error", (error) => reject(signal.aborted ? (signal.reason as Error) : connection.faultOf(error)));
			if (!q.content) return void request.end(text);
			// Only the stream says why it ended; the request was cut then.
			q.content.once("error", (error) => signal.aborted || reject(error));
			pipeline(q.content, request, () => {});
		});
		const status = answer.statusCode ?? 0;
		if (status < 400) return answer;
		throw new Refusal(status, messageIn(await refusalText(answer)) ?? `HTTP ${status}`);
	}

	async function call<T>(method: string, path: string, q: Call = {}): Promise<T> {
		const signal = q.signal ?? AbortSignal.timeout(CALL_MS);
		const text = await textOf(await answerTo(method, path, { ...q, signal }), `the Docker daemon at ${address}`);
		return (text === "" ? undefined : JSON.parse(text)) as T;
	}

	return { answerTo, call };
}

/** Awaits `work`; rejects with the signal's reason if it aborts first. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
	const { promise, reject } = Promise.withResolvers<never>();
	const abort = (): void => reject(signal.reason as Error);
	signal.addEventListener("abort", abort);
	try {
		return await Promise.race([work, promise]);
	} finally {
		signal.removeEventListener("abort", abort);
	}
}

function messageIn(text: string): string | undefined {
	try {
		return (JSON.parse(text) as { message?: string }).message;
	} catch {
		return text.trim() || undefined;
	}
}

export function statusOf(error: unknown): number | undefined {
	return error instanceof Refusal ? error.status : undefined;
}

export function isUnanswered(error: unknown): boolean {
	const { code = "", name } = error as NodeJS.ErrnoException;
	return error instanceof Unreachable || name === "TimeoutError" || UNANSWERED.includes(code);
}

/** Why a call failed, for the operator. `fix`: how to correct the address. */
export function sentenceOf(
	error: unknown,
	{ address, fix = "set DOCKER_HOST for the service" }: { address: string; fix?: string },
): string {
	const { code = "", name, message, cause } = error as NodeJS.ErrnoException;
	// A stream that was cut has the reason as its cause.
	if (name === "AbortError" && cause instanceof Error) return cause.message;
	if (name === "TimeoutError")
		return `the Docker daemon at ${address} does not answer in time; check the machine and its network`;
	if (/CERT|^ERR_(TLS|SSL)/.test(code))
		return (
			`TLS with the Docker daemon at ${address} failed (${message.trim()}); check its ` + "certificate and those in tls"
		);
	if (UNANSWERED.includes(code)) return `no Docker daemon answers at ${address}; start it, or ${fix}`;
	switch (code) {
		case "EACCES":
		case "EPERM":
			return `this user may not use the Docker daemon at ${address}; add it to the group docker`;
		default:
			return /no such image/i.test(message)
				? `${message.trimEnd()}; it must be on the machine: build it there, or set pullPolicy to missing`
				: message.trim();
	}
}
