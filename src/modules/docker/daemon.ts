/** The Docker Engine API, as far as the launcher uses it. */
import type { Readable } from "node:stream";
import type { RegistryLogin } from "../../kernel/core/access/image-registry.ts";
import { framesOf } from "../../kernel/launchers/platform-streams.ts";
import { daemonCalls } from "./daemon-calls.ts";
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

/** Calls reject with an Error; see `statusOf` in daemon-calls.ts. */
export type Daemon = ReturnType<typeof dockerDaemon>;

/** Characters that are kept of the output of a program in a container. */
const OUTPUT_CHARACTERS = 300;

/** Connects on the first call. When the signal of `session` is aborted, all calls but `ping` fail with its reason. */
export function dockerDaemon(connection: Connection, session?: () => AbortSignal) {
	const { answerTo, call } = daemonCalls(connection, session);
	const get = <T>(path: string, query?: Record<string, string>): Promise<T> =>
		call("GET", path, { ...(query && { query }) });
	const containerPath = (id: string, action = ""): string => `/containers/${encodeURIComponent(id)}${action}`;

	return {
		/** Socket path, or host and port. */
		address: connection.address,
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
