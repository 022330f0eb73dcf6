/** The Docker Engine API calls of the launcher, and daemon errors as sentences. */
import { request as plainRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import { request as secureRequest } from "node:https";
import { connectionOf } from "./connection.ts";
import type { Env } from "./connection.ts";
import type { ContainerOptions } from "./container-options.ts";
import type { RegistryLogin } from "../../core/registry-login.ts";

export interface ListedContainer {
	Id: string;
	Labels: Readonly<Record<string, string>>;
}

/** Only the members used here. */
export interface InspectedContainer {
	Id: string;
	State: { Running: boolean; ExitCode: number; OOMKilled: boolean };
	Config: { Labels: Record<string, string>; Cmd: string[] | null; Entrypoint: string[] | null };
}

/** Calls reject with an Error; see {@link statusOf}. */
export interface Daemon {
	/** Socket path, or host and port. */
	readonly address: string;
	ping(q: { timeoutMs: number }): Promise<void>;
	info(): Promise<{ OperatingSystem?: string }>;
	network(name: string): Promise<{ IPAM?: { Config?: { Gateway?: string }[] | null } }>;
	/** `label`: `name` or `name=value`. Only running containers unless `all`. */
	list(q: { label: string; all?: boolean }): Promise<ListedContainer[]>;
	create(options: ContainerOptions): Promise<string>;
	start(id: string): Promise<void>;
	inspect(id: string): Promise<InspectedContainer>;
	/** Rows of `ps`, the command last. */
	top(id: string): Promise<string[][]>;
	/** Resolves when the container has ended. */
	wait(id: string, signal: AbortSignal): Promise<void>;
	kill(id: string, signal: "SIGTERM" | "SIGKILL"): Promise<void>;
	/** Throws when the container is not paused. */
	unpause(id: string): Promise<void>;
	/** Also if it is running; with its anonymous volumes. */
	remove(id: string): Promise<void>;
	/** Throws when it is not present. */
	image(name: string): Promise<unknown>;
	/** Pulls an image: lines of JSON until the end, errors among them. */
	pull(q: {
		repository: string;
		/** Tag or digest. */
		version: string;
		login?: RegistryLogin | undefined;
		signal: AbortSignal;
	}): Promise<AsyncIterable<Buffer>>;
	/** Multiplexed frames with timestamps, from `since` (s) until the end. */
	logs(id: string, q: { since: number; signal: AbortSignal }): Promise<AsyncIterable<Buffer>>;
}

class Refusal extends Error {
	readonly status: number;

	constructor(status: number, message: string) {
		super(message);
		this.status = status;
	}
}

/** Connects on the first call. Throws if `DOCKER_HOST` is invalid. */
export function dockerDaemon(env: Env): Daemon {
	const { address, secure, options } = connectionOf(env);

	interface Call {
		query?: Record<string, string>;
		body?: unknown;
		headers?: Record<string, string> | undefined;
		signal?: AbortSignal;
	}

	/** Resolves once the headers arrived; throws {@link Refusal}. */
	async function answerTo(method: string, path: string, q: Call = {}): Promise<IncomingMessage> {
		const text = q.body === undefined ? undefined : JSON.stringify(q.body);
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
				...(q.signal && { signal: q.signal }),
			});
			request.once("response", resolve).once("error", reject).end(text);
		});
		const status = answer.statusCode ?? 0;
		if (status < 400) return answer;
		throw new Refusal(status, messageIn(await textOf(answer)) ?? `HTTP ${status}`);
	}

	async function call<T>(method: string, path: string, q?: Call): Promise<T> {
		const text = await textOf(await answerTo(method, path, q));
		return (text === "" ? undefined : JSON.parse(text)) as T;
	}

	const get = <T>(path: string, query?: Record<string, string>): Promise<T> =>
		call("GET", path, query && { query });
	const of = (id: string, action = ""): string => `/containers/${encodeURIComponent(id)}${action}`;

	return {
		address,
		async ping({ timeoutMs }) {
			const answer = await answerTo("GET", "/_ping", { signal: AbortSignal.timeout(timeoutMs) });
			answer.resume();
		},
		info: () => get("/info"),
		network: (name) => get(`/networks/${encodeURIComponent(name)}`),
		list: ({ label, all = false }) =>
			get("/containers/json", {
				all: String(all),
				filters: JSON.stringify({ label: [label] }),
			}),
		async create({ name, ...body }) {
			const query = { name };
			return (await call<{ Id: string }>("POST", "/containers/create", { query, body })).Id;
		},
		start: (id) => call("POST", of(id, "/start")),
		inspect: (id) => get(of(id, "/json")),
		top: async (id) => (await get<{ Processes: string[][] }>(of(id, "/top"))).Processes,
		wait: (id, signal) => call("POST", of(id, "/wait"), { signal }),
		kill: (id, signal) => call("POST", of(id, "/kill"), { query: { signal } }),
		unpause: (id) => call("POST", of(id, "/unpause")),
		remove: (id) => call("DELETE", of(id), { query: { force: "true", v: "true" } }),
		image: (name) => get(`/images/${encodeURIComponent(name)}/json`),
		pull({ repository, version, login, signal }) {
			const query = { fromImage: repository, tag: version };
			const headers = login && { "x-registry-auth": paddedBase64Url(JSON.stringify(login)) };
			return answerTo("POST", "/images/create", { query, headers, signal });
		},
		logs(id, { since, signal }) {
			const what = { follow: "true", stdout: "true", stderr: "true", timestamps: "true" };
			const query = { ...what, since: String(since) };
			return answerTo("GET", of(id, "/logs"), { query, signal });
		},
	};
}

/** Without its padding Docker takes it for no login at all. */
function paddedBase64Url(text: string): string {
	return Buffer.from(text).toString("base64").replaceAll("+", "-").replaceAll("/", "_");
}

async function textOf(answer: IncomingMessage): Promise<string> {
	let text = "";
	for await (const part of answer.setEncoding("utf8")) text += part;
	return text;
}

function messageIn(text: string): string | undefined {
	try {
		return (JSON.parse(text) as { message?: string }).message;
	} catch {
		return text.trim() || undefined;
	}
}

/** The HTTP status of an error response; undefined if the daemon did not respond. */
export function statusOf(error: unknown): number | undefined {
	return error instanceof Refusal ? error.status : undefined;
}

/** Why a call failed, for the operator. */
export function sentenceOf(error: unknown, address: string): string {
	const { code, message } = error as NodeJS.ErrnoException;
	switch (code) {
		case "ENOENT":
		case "ECONNREFUSED":
		case "ECONNRESET":
		case "EHOSTUNREACH":
		case "ENOTFOUND":
		case "ETIMEDOUT":
			return `no Docker daemon answers at ${address}; start it, or set DOCKER_HOST for the service`;
		case "EACCES":
		case "EPERM":
			return `this user may not use the Docker daemon at ${address}; add it to the group docker`;
		default:
			return /no such image/i.test(message)
				? `${message.trimEnd()}; it must be on the machine: build it there, or set pullPolicy to missing`
				: message.trim();
	}
}
