/** Checks of `hosts` in `sluice.yaml` beyond the schema (D44). */
import { dirname, resolve } from "node:path";
import { LOCAL } from "../../../kernel/core/workers/hosts.ts";
import { isObject } from "../../../kernel/lib/schema.ts";
import type { FileContext } from "../../../kernel/launchers/definition.ts";
import type { HostConfig, HostSettings } from "./host-schema.ts";

/** Returns the hosts with absolute paths, or the problems of `raw`, which has passed the schema. */
export function readHosts(raw: unknown, context: FileContext, problems: string[]): HostConfig {
	const hosts: Record<string, HostSettings> = {};
	const lostAfterMs = context.hostTimeoutMs;
	if (problems.length > 0) return { hosts, lostAfterMs };
	for (const [name, settings] of isObject(raw) ? Object.entries(raw) : []) {
		const host = (settings ?? {}) as HostSettings;
		for (const problem of problemsOf(name, host, context)) problems.push(`${context.path}: ${problem}`);
		const file = (path: string): string => resolve(dirname(context.path), path);
		const { tls } = host;
		hosts[name] = {
			...host,
			...(tls && { tls: { ca: file(tls.ca), cert: file(tls.cert), key: file(tls.key) } }),
			...(host.workerUrl !== undefined && { workerUrl: host.workerUrl.replace(/(?<!\/)\/+$/, "") }),
		};
	}
	checkEndpoints(hosts, context, problems);
	return { hosts, lostAfterMs };
}

function* problemsOf(name: string, host: HostSettings, context: FileContext): Iterable<string> {
	const at = `hosts.${name}`;
	const { docker, tls, insecure = false, workerUrl } = host;
	if (name === LOCAL) {
		if (docker !== undefined || tls)
			yield `${at} is the daemon of DOCKER_HOST: set that variable in place of ${at}.docker.`;
		if (context.gpus > 0)
			yield `${at} and gpus must not both be set: its GPUs would be assigned twice. Remove gpus, ` +
				`and set hosts: [${LOCAL}] in the launcher of endpoints that need them.`;
		return;
	}
	if (docker === undefined)
		return yield `${at}.docker is missing; it must be ssh://user@host, tcp://host:2376 or unix:///path.`;
	if (docker.startsWith("unix:")) return;
	const url = URL.parse(docker);
	if (!url || url.hostname === "")
		return yield `${at}.docker must be ssh://user@host or tcp://host:2376, not ${docker}.`;
	if (url.password !== "") yield `${at}.docker must not contain a password: ssh uses the keys of the service's user.`;
	const isTcp = url.protocol === "tcp:";
	if (tls && !isTcp) yield `${at}.tls is for tcp:// only.`;
	if (isTcp && !tls && !insecure && !isLoopback(url.hostname))
		yield `${at}.docker is tcp:// without tls: everyone in that network can control the machine. ` +
			`Set ${at}.tls, use ssh://, or set ${at}.insecure: true.`;
	if (workerUrl === undefined && context.url === undefined && isOwnMachine(context.listen))
		yield `${at} needs ${at}.workerUrl or publicUrl: the address at which workers there reach this ` +
			"service, such as http://192.168.1.10:8080.";
}

function checkEndpoints(
	hosts: Readonly<Record<string, HostSettings>>,
	{ path, endpoints }: FileContext,
	problems: string[],
): void {
	const known = new Set([LOCAL, ...Object.entries(hosts).flatMap(([n, h]) => [n, ...(h.labels ?? [])])]);
	for (const { id, launcher } of endpoints) {
		const wanted = launcher.type === "docker" && (launcher as { hosts?: unknown }).hosts;
		for (const each of Array.isArray(wanted) ? (wanted as string[]) : []) {
			if (known.has(each)) continue;
			problems.push(
				`${path}: endpoints.${id}.launcher.hosts names ${each}, and no host has that name or label; ` +
					`known are ${[...known].join(", ")}.`,
			);
		}
	}
}

function isLoopback(hostname: string): boolean {
	return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}

/** Whether other machines cannot reach the address. */
function isOwnMachine(listen: string): boolean {
	return ["0.0.0.0", "::", "::1", "localhost"].includes(listen) || listen.startsWith("127.");
}
