/** Docker Engine API calls of the launcher, and daemon errors as sentences. */
import { type IncomingMessage, request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import { pipeline, type Readable } from "node:stream";
import type { RegistryLogin } from "../../kernel/core/access/image-registry.ts";
import { PlatformUnavailable } from "../../kernel/launchers/launcher.ts";
import { framesOf, refusalText, textOf } from "../../kernel/launchers/platform-streams.ts";
import type { Connection } from "./hosts/connection.ts";

export interface ListedContainer {
	Id: string;
	Labels: Readonly<Record<string, string>>;
	State?: string;
}

/** Only the members used here, as in the types below. */
export interface DaemonInfo {
	OperatingSystem?: string;
	/** Processor as Linux names it, such as `x86_64`. */
	Architecture?: string;
	ServerVersion?: string;
	DockerRootDir?: string;
	Runtimes?: Record<string, unknown> | null;
}

export interface InspectedContainer {
	Id: string;
	State: { Running: boolean; ExitCode: number; OOMKilled: boolean };
	HostConfig: { Memory?: number };
	NetworkSettings?: {
		Networks?: Readonly<Record<string, { IPAddress?: string; GlobalIPv6Address?: string }>> | null;
	};
	Config: {
		Image: string;
		Labels: Record<string, string>;
		Cmd: string[] | null;
		Entrypoint: string[] | null;
	};
}

export interface ContainerStats {
	read?: string;
	cpu_stats?: { cpu_usage?: { total_usage?: number } };
	memory_stats?: { usage?: number; limit?: number; stats?: Readonly<Record<string, number>> };
	pids_stats?: { current?: number };
}

export interface CreateOptions {
	name?: string;
	Image: string;
	Entrypoint?: string[];
	Cmd?: string[];
	Env: string[];
	Labels?: Readonly<Record<string, string>>;
	HostConfig: object;
	NetworkingConfig?: object;
}

/** Calls reject with an Error; see {@link statusOf}. */
export type Daemon = ReturnType<typeof dockerDaemon>;

const UNANSWERED = ["ENOENT", "ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND", "ETIMEDOUT"];

/**
 * Maximum wait for an answer, ms: a daemon that hangs on one container still answers the host's checks. Slow disks
 * take minutes.
 */
const CALL_MS = 180_000;

/** Characters that are kept of the output of a program in a container. */
const OUTPUT_CHARACTERS = 300;

class Refusal extends Error {
	readonly status: number;

	constructor(status: number, message: string) {
		super(message);
		this.status = status;
	}
}

/** The daemon counts as unreachable: its calls fail at once. */
export class Unreachable extends PlatformUnavailable {}

/** Connects on the first call. When the signal of `session` is aborted, all calls but `ping` fail with its reason. */
export function dockerDaemon(connection: Connection, session?: () => AbortSignal) {
	const { address, secure } = connection;

	interface Call {
		query?: Record<string, string> | [name: string, value: string][];
		body?: unknown;
		/** Sent as it is, in place of `body`. */
		content?: Readable;
		headers?: Record<string, string> | undefined;
		signal?: AbortSignal;
		always?: true;
	}

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

	const get = <T>(path: string, query?: Record<string, string>): Promise<T> =>
		call("GET", path, { ...(query && { query }) });
	const containerPath = (id: string, action = ""): string => `/containers/${encodeURIComponent(id)}${action}`;

	return {
		/** Socket path, or host and port. */
		address,
		/** Works also while the daemon counts as unreachable. */
		async ping({ timeoutMs }: { timeoutMs: number }): Promise<void> {
			const signal = AbortSignal.timeout(timeoutMs);
			(await answerTo("GET", "/_ping", { signal, always: true })).resume();
		},
		info: () => get<DaemonInfo>("/info"),
		async images() {
			const rows = await get<{ RepoTags: string[] | null; RepoDigests: string[] | null }[]>("/images/json");
			return rows.flatMap(({ RepoTags, RepoDigests }) => [...(RepoTags ?? []), ...(RepoDigests ?? [])]);
		},
		freeDisk: async ({ DockerRootDir }: DaemonInfo) =>
			DockerRootDir === undefined ? undefined : await connection.freeBytes(DockerRootDir),
		network: (name: string) =>
			get<{ IPAM?: { Config?: { Gateway?: string }[] | null } }>(`/networks/${encodeURIComponent(name)}`),
		/** `label`: `name` or `name=value`. Only running containers unless `all`. */
		list: ({ label, all = false }: { label: string; all?: boolean }) =>
			get<ListedContainer[]>("/containers/json", { all: String(all), filters: JSON.stringify({ label: [label] }) }),
		async create({ name, ...body }: CreateOptions) {
			const q = { body, ...(name !== undefined && { query: { name } }) };
			return (await call<{ Id: string }>("POST", "/containers/create", q)).Id;
		},
		start: (id: string) => call<void>("POST", containerPath(id, "/start")),
		inspect: (id: string) => get<InspectedContainer>(containerPath(id, "/json")),
		stats: (id: string) => get<ContainerStats>(containerPath(id, "/stats"), { stream: "false", "one-shot": "true" }),
		top: async (id: string) => (await get<{ Processes: string[][] }>(containerPath(id, "/top"))).Processes,
		wait: (id: string, signal: AbortSignal) => call<void>("POST", containerPath(id, "/wait"), { signal }),
		kill: (id: string, signal: "SIGTERM" | "SIGKILL") =>
			call<void>("POST", containerPath(id, "/kill"), { query: { signal } }),
		/** Runs a program in the container, and returns its exit code and the end of its output. */
		async exec(id: string, Cmd: readonly string[], signal: AbortSignal): Promise<{ code: number; output: string }> {
			const body = { Cmd, AttachStdout: true, AttachStderr: true };
			const exec = `/exec/${(await call<{ Id: string }>("POST", containerPath(id, "/exec"), { body })).Id}`;
			let output = "";
			for await (const pieces of framesOf(await answerTo("POST", `${exec}/start`, { body: { Detach: false }, signal })))
				for (const { bytes } of pieces) output = (output + bytes.toString("utf8")).slice(-OUTPUT_CHARACTERS);
			// An abort ends the stream like an exit.
			signal.throwIfAborted();
			// In a cut line a secret would not be recognised.
			if (output.length === OUTPUT_CHARACTERS) output = output.slice(output.indexOf("\n") + 1 || output.length);
			return { code: (await get<{ ExitCode: number }>(`${exec}/json`)).ExitCode, output: output.trim() };
		},
		/** Rejects when the container is not paused. */
		unpause: (id: string) => call<void>("POST", containerPath(id, "/unpause")),
		/** Removes a running container too, and its anonymous volumes. */
		remove: (id: string) => call<void>("DELETE", containerPath(id), { query: { force: "true", v: "true" } }),
		image: (name: string) => get<unknown>(`/images/${encodeURIComponent(name)}/json`),
		/** Pulls a tag or digest: lines of JSON until the end, errors among them. */
		pull(q: { repository: string; version: string; login?: RegistryLogin | undefined; signal: AbortSignal }) {
			const query = { fromImage: q.repository, tag: q.version };
			const headers = q.login && { "x-registry-auth": paddedBase64Url(JSON.stringify(q.login)) };
			return answerTo("POST", "/images/create", { query, headers, signal: q.signal });
		},
		/** Makes an image of a tar: lines of JSON until the end, errors among them. `changes`: lines of a Dockerfile. */
		import(q: {
			repository: string;
			version: string;
			changes: readonly string[];
			content: Readable;
			signal: AbortSignal;
		}) {
			const changes = q.changes.map((change): [string, string] => ["changes", change]);
			const query: [string, string][] = [["fromSrc", "-"], ["repo", q.repository], ["tag", q.version], ...changes];
			const headers = { "content-type": "application/x-tar" };
			return answerTo("POST", "/images/create", { query, headers, content: q.content, signal: q.signal });
		},
		/** Reads the log: multiplexed frames with timestamps, from `since` (s) until its end, or up to its present end. */
		logs(id: string, { since, signal, follow = true }: { since: number; signal: AbortSignal; follow?: boolean }) {
			const what = { follow: String(follow), stdout: "true", stderr: "true", timestamps: "true" };
			const query = { ...what, since: String(since) };
			return answerTo("GET", containerPath(id, "/logs"), { query, signal });
		},
		close: () => connection.close(),
	};
}

/** Returns padded base64url: Docker treats a login without padding as no login. */
function paddedBase64Url(text: string): string {
	return Buffer.from(text).toString("base64").replaceAll("+", "-").replaceAll("/", "_");
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
