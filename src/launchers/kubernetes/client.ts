/** Calls of the Kubernetes API (docs/decisions/0037-kubernetes-client.md). */
import type { Agent, Dispatcher } from "undici";
import { PlatformUnavailable } from "../launcher.ts";
import { refusalText, textOf } from "../platform-streams.ts";
import type { Connection } from "./credentials.ts";
import type { Credentials } from "./exec-plugin.ts";

/** Maximum wait for an answer to an ordinary call, and for the begin of a stream, ms. */
const CALL_MS = 10_000;
/** A watch ends on the server before; a silent network is noticed by TCP keep-alive, ms. */
const STREAM_MS = 600_000;
/** Maximum number of connections: a watch, and one for each log that is followed. */
const CONNECTIONS = 2000;

export interface Call {
	query?: Record<string, string>;
	body?: unknown;
	/** Type of `body`; `application/json` by default. */
	type?: string;
	timeoutMs?: number;
	signal?: AbortSignal;
}

/** Calls reject with {@link Refusal}, or another Error if the API server did not answer. */
export interface KubernetesClient {
	readonly server: string;
	readonly namespace: string;
	call<T>(method: "GET" | "POST" | "PATCH" | "DELETE", path: string, q?: Call): Promise<T>;
	stream(path: string, q: Call): Promise<AsyncIterable<Buffer>>;
	close(): Promise<void>;
}

/** An error answer of the API server. */
export class Refusal extends Error {
	readonly status: number;
	/** Such as `AlreadyExists`. */
	readonly reason: string;

	constructor(status: number, reason: string, message: string) {
		super(message);
		this.status = status;
		this.reason = reason;
	}
}

export function kubernetesClient(connection: Connection): KubernetesClient {
	const { server, namespace } = connection;
	let agent: { cert: string | undefined; agent: Agent } | undefined;

	/** A plugin may return another certificate. */
	async function agentOf({ cert, key }: Credentials): Promise<Agent> {
		// Most services use no cluster.
		const undici = await import("undici");
		if (agent && agent.cert === cert) return agent.agent;
		void agent?.agent.close();
		const made = new undici.Agent({
			connections: CONNECTIONS,
			keepAliveTimeout: 20_000,
			connect: {
				timeout: CALL_MS,
				rejectUnauthorized: !connection.insecure,
				...(connection.ca !== undefined && { ca: connection.ca }),
				...(connection.serverName !== undefined && { servername: connection.serverName }),
				...(cert !== undefined && { cert }),
				...(key !== undefined && { key }),
			},
		});
		agent = { cert, agent: made };
		return made;
	}

	/** The credentials are renewed once if the server refuses them. */
	async function answer(
		method: Dispatcher.HttpMethod,
		path: string,
		q: Call & { bodyTimeout: number },
		renew = false,
	): Promise<Dispatcher.ResponseData> {
		const credentials = await connection.credentials(renew);
		const text = q.body === undefined ? undefined : JSON.stringify(q.body);
		const response = await (await agentOf(credentials)).request({
			origin: server,
			method,
			path: q.query ? `${path}?${String(new URLSearchParams(q.query))}` : path,
			headers: {
				accept: "application/json, */*",
				...(text !== undefined && { "content-type": q.type ?? "application/json" }),
				...(credentials.token !== undefined && { authorization: `Bearer ${credentials.token}` }),
			},
			headersTimeout: q.timeoutMs ?? CALL_MS,
			bodyTimeout: q.bodyTimeout,
			...(text !== undefined && { body: text }),
			...(q.signal && { signal: q.signal }),
		});
		if (response.statusCode < 400) return response;
		const refusal = await refusalOf(response);
		if (refusal.status === 401 && !renew) return await answer(method, path, q, true);
		throw refusal;
	}

	return {
		server,
		namespace,
		async call<T>(method: Dispatcher.HttpMethod, path: string, q: Call = {}) {
			const bodyTimeout = q.timeoutMs ?? CALL_MS;
			const { body } = await answer(method, path, { ...q, bodyTimeout });
			return JSON.parse(await textOf(body, `the API server at ${server}`)) as T;
		},
		stream: async (path, q) => (await answer("GET", path, { ...q, bodyTimeout: STREAM_MS })).body,
		async close() {
			await agent?.agent.destroy();
		},
	};
}

async function refusalOf({ statusCode, body }: Dispatcher.ResponseData): Promise<Refusal> {
	const text = await refusalText(body);
	try {
		const { message = text, reason = "" } = JSON.parse(text) as {
			message?: string;
			reason?: string;
		};
		return new Refusal(statusCode, reason, message);
	} catch {
		return new Refusal(statusCode, "", text.trim() || `HTTP ${statusCode}`);
	}
}

/** The HTTP status of an error answer; undefined if the API server did not answer. */
export function statusOf(error: unknown): number | undefined {
	return error instanceof Refusal ? error.status : undefined;
}

/** The API server did not answer, or is too busy or too young to: another call may succeed. */
export function isPassing(error: unknown): boolean {
	const status = statusOf(error);
	return status === undefined || status === 429 || status >= 500;
}

const CONNECTION = /^(ECONN|ENOTFOUND|EHOST|ENET|ETIMEDOUT|UND_ERR|EPIPE|EAI_)/;

/** Does what {@link isPassing} does, for any error: one of the network, or an answer that says so. */
export function isUnanswered(error: unknown): boolean {
	if (statusOf(error) !== undefined) return isPassing(error);
	return error instanceof PlatformUnavailable || CONNECTION.test((error as NodeJS.ErrnoException).code ?? "");
}

/** Why a call failed, for the operator. */
export function sentenceOf(error: unknown, server: string): string {
	const { code = "", message } = error as NodeJS.ErrnoException;
	const status = statusOf(error);
	if (status === 401) return `the API server at ${server} does not accept the credentials (${message})`;
	// Quotas, limits and Pod security are refused with 403 too; only RBAC writes this.
	if (status === 403 && / cannot \w+ resource /.test(message))
		return `${message}; 'sluice doctor' shows which rights are missing`;
	if (status !== undefined) return message;
	if (CONNECTION.test(code)) return `the API server at ${server} does not answer (${code})`;
	return message;
}
