/** Kubernetes API calls (decision 0037). */
import type { Agent, Dispatcher } from "undici";
import { PlatformUnavailable } from "../../../kernel/launchers/launcher.ts";
import { refusalText, textOf } from "../../../kernel/launchers/platform-streams.ts";
import type { Connection } from "./credentials.ts";
import type { Credentials } from "./exec-plugin.ts";

/** Maximum wait for an answer, or for the headers of a stream, ms. */
const CALL_MS = 10_000;
/** Maximum duration of a stream, ms. A watch ends on the server earlier; TCP keep-alive notices a dead network. */
const STREAM_MS = 600_000;
/** One connection for the watch and one for each followed log. */
const CONNECTIONS = 2000;

interface Call {
	query?: Record<string, string>;
	body?: unknown;
	type?: string;
	timeoutMs?: number;
	signal?: AbortSignal;
}

/** Calls reject with {@link Refusal}, or another Error if the API server did not answer. */
export type KubernetesClient = ReturnType<typeof kubernetesClient>;

export class Refusal extends Error {
	readonly status: number;
	readonly reason: string;

	constructor(status: number, reason: string, message: string) {
		super(message);
		this.status = status;
		this.reason = reason;
	}
}

export function kubernetesClient(connection: Connection) {
	const { server, namespace } = connection;
	let agent: { cert: string | undefined; agent: Agent } | undefined;

	/** A plugin may return another certificate. */
	async function agentOf({ cert, key }: Credentials): Promise<Agent> {
		// Loaded lazily, since most services use no cluster.
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

	/** Calls the API server. Credentials are renewed once if it refuses them. */
	async function answer(
		method: Dispatcher.HttpMethod,
		path: string,
		q: Call & { bodyTimeout: number },
		renew = false,
	): Promise<Dispatcher.ResponseData> {
		const credentials = await connection.credentials(renew);
		const text = q.body === undefined ? undefined : JSON.stringify(q.body);
		// Proxies such as Rancher's serve a cluster below a path.
		const { origin, pathname } = new URL(server);
		const full = pathname.replace(/\/$/, "") + path;
		const response = await (await agentOf(credentials)).request({
			origin,
			method,
			path: q.query ? `${full}?${String(new URLSearchParams(q.query))}` : full,
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
		async call<T>(method: Dispatcher.HttpMethod, path: string, q: Call = {}): Promise<T> {
			const bodyTimeout = q.timeoutMs ?? CALL_MS;
			const { body } = await answer(method, path, { ...q, bodyTimeout });
			return JSON.parse(await textOf(body, `the API server at ${server}`)) as T;
		},
		stream: async (path: string, q: Call): Promise<AsyncIterable<Buffer>> =>
			(await answer("GET", path, { ...q, bodyTimeout: STREAM_MS })).body,
		async close(): Promise<void> {
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

export function statusOf(error: unknown): number | undefined {
	return error instanceof Refusal ? error.status : undefined;
}

/** Whether the API server did not answer or is overloaded, so that another call may succeed. */
export function isPassing(error: unknown): boolean {
	const status = statusOf(error);
	return status === undefined || status === 429 || status >= 500;
}

const CONNECTION = /^(ECONN|ENOTFOUND|EHOST|ENET|ETIMEDOUT|UND_ERR(?!_INVALID_ARG)|EPIPE|EAI_)/;

/** Whether another call may succeed, as {@link isPassing}, also for errors of the network. */
export function isUnanswered(error: unknown): boolean {
	if (statusOf(error) !== undefined) return isPassing(error);
	return error instanceof PlatformUnavailable || CONNECTION.test((error as NodeJS.ErrnoException).code ?? "");
}

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
