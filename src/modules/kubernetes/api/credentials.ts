/** Finds the cluster and its credentials, in a Pod or from a kubeconfig. */
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { parse } from "yaml";
import type { Clock } from "../../../kernel/system/clock.ts";
import { fileCalls } from "../../../kernel/system/file-calls.ts";
import { type Credentials, type ExecConfig, execPlugin } from "./exec-plugin.ts";
import type { Env } from "../../../kernel/lib/env.ts";

export interface Connection {
	/** Address of the server, without a slash at the end. */
	server: string;
	namespace: string;
	ca?: string | undefined;
	/** Name that the server's certificate must have instead of its host. */
	serverName?: string | undefined;
	insecure: boolean;
	/** The Pod that the service runs in, if the connection is to its cluster by its service account. */
	ownPod?: { namespace: string; name: string } | undefined;
	/** `renew`: the server refused the last ones. */
	credentials(renew?: boolean): Promise<Credentials>;
}

const POD_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";
/** Time after which a token file is read again, ms. Kubernetes replaces tokens well before they expire. */
const TOKEN_FILE_MS = 60_000;

/** Finds the credentials. Throws an Error with a sentence if there are none, or of an unsupported kind. */
export async function connectionOf(
	env: Env,
	{ context, clock, podFolder = POD_FOLDER }: { context?: string | undefined; clock: Clock; podFolder?: string },
): Promise<Connection> {
	const files = await kubeconfigFiles(env);
	const inPod = env["KUBERNETES_SERVICE_HOST"] !== undefined && (await fileCalls.isThere(join(podFolder, "token")));
	if (context === undefined && !env["KUBECONFIG"] && inPod) return await ofPod(env, podFolder, clock);
	if (files.length > 0) return await ofKubeconfig(files, context, { clock, env });
	throw new Error(
		"no credentials for Kubernetes: run the service in a Pod with a service account, or set " +
			"KUBECONFIG to a kubeconfig",
	);
}

function textAt(path: string): Promise<string> {
	return fileCalls.run(path, () => readFile(path, "utf8"));
}

async function kubeconfigFiles(env: Env): Promise<string[]> {
	const named = env["KUBECONFIG"];
	const paths = named
		? named.split(delimiter).filter((path) => path !== "")
		: [join(env["HOME"] ?? homedir(), ".kube", "config")];
	const present = await Promise.all(paths.map((path) => fileCalls.isThere(path)));
	return paths.filter((_, at) => present[at]);
}

async function ofPod(env: Env, folder: string, clock: Clock): Promise<Connection> {
	const host = env["KUBERNETES_SERVICE_HOST"]!;
	const port = env["KUBERNETES_SERVICE_PORT"] ?? "443";
	const file = join(folder, "namespace");
	const namespace = (await fileCalls.isThere(file)) ? (await textAt(file)).trim() : "default";
	const name = env["HOSTNAME"];
	return {
		server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
		namespace,
		...(name !== undefined && { ownPod: { namespace, name } }),
		ca: await textAt(join(folder, "ca.crt")),
		insecure: false,
		credentials: tokenFile(join(folder, "token"), clock),
	};
}

interface Named {
	name: string;
}
interface Kubeconfig {
	"current-context"?: string;
	clusters?: (Named & { cluster?: Record<string, unknown> })[] | null;
	users?: (Named & { user?: Record<string, unknown> | null })[] | null;
	contexts?: (Named & { context?: { cluster?: string; user?: string; namespace?: string } })[] | null;
}

async function ofKubeconfig(
	files: readonly string[],
	wanted: string | undefined,
	{ clock, env }: { clock: Clock; env: Env },
): Promise<Connection> {
	// As in kubectl, the first file with a name wins.
	const read = await Promise.all(files.map(async (path) => ({ path, config: await parsed(path) })));
	const name = wanted ?? read.map(({ config }) => config["current-context"]).find((each) => each);
	const where = files.join(delimiter);
	const first = <Entry extends Named>(
		kind: string,
		entry: string | undefined,
		of: (config: Kubeconfig) => Entry[] | null | undefined,
	): { path: string; found: Entry } => {
		for (const { path, config } of read) {
			const found = of(config)?.find((each) => each.name === entry);
			if (found) return { path, found };
		}
		throw new Error(`kubeconfig ${where} has no ${kind} "${entry ?? ""}"`);
	};
	const { context = {} } = first("context", name, (config) => config.contexts).found;
	const cluster = first("cluster", context.cluster, (config) => config.clusters);
	const user = first("user", context.user, (config) => config.users);
	const { server, "tls-server-name": serverName, ...rest } = cluster.found.cluster ?? {};
	if (typeof server !== "string") throw new Error(`cluster "${context.cluster}" in ${where} has no server`);
	if (rest["proxy-url"] !== undefined)
		throw new Error(`cluster "${context.cluster}" in ${where} has proxy-url, which is not supported`);
	return {
		server: server.replace(/(?<!\/)\/+$/, ""),
		namespace: context.namespace ?? "default",
		ca: await textOf(rest, "certificate-authority", dirname(cluster.path)),
		serverName: typeof serverName === "string" ? serverName : undefined,
		insecure: rest["insecure-skip-tls-verify"] === true,
		credentials: await userCredentials(user.found.user ?? {}, {
			name: context.user ?? "",
			folder: dirname(user.path),
			clock,
			env,
		}),
	};
}

async function parsed(path: string): Promise<Kubeconfig> {
	try {
		return (parse(await textAt(path)) ?? {}) as Kubeconfig;
	} catch (error) {
		throw new Error(`kubeconfig ${path} cannot be read: ${(error as Error).message}`, {
			cause: error,
		});
	}
}

async function userCredentials(
	user: Record<string, unknown>,
	{ name, folder, clock, env }: { name: string; folder: string; clock: Clock; env: Env },
): Promise<Connection["credentials"]> {
	for (const unsupported of ["auth-provider", "username", "as"])
		if (user[unsupported] !== undefined)
			throw new Error(
				`user "${name}" of the kubeconfig has ${unsupported}, which is not supported: use a token, ` +
					"a client certificate or an exec plugin",
			);
	if (user["exec"] !== undefined) return execPlugin(user["exec"] as ExecConfig, { folder, clock, env });
	const cert = await textOf(user, "client-certificate", folder);
	const key = await textOf(user, "client-key", folder);
	const pair = { ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) };
	if (typeof user["token"] === "string") {
		const token = user["token"];
		return async () => ({ ...pair, token });
	}
	if (typeof user["tokenFile"] !== "string") return async () => pair;
	const fromFile = tokenFile(resolve(folder, user["tokenFile"]), clock);
	return async (renew) => ({ ...pair, ...(await fromFile(renew)) });
}

/** Returns a text of the kubeconfig: `name` is a path, `name-data` the content in base64. */
async function textOf(from: Record<string, unknown>, name: string, folder: string): Promise<string | undefined> {
	const data = from[`${name}-data`];
	if (typeof data === "string") return Buffer.from(data, "base64").toString("utf8");
	const path = from[name];
	return typeof path === "string" ? await textAt(resolve(folder, path)) : undefined;
}

function tokenFile(path: string, clock: Clock): Connection["credentials"] {
	let read: { at: number; token: string } | undefined;
	return async (renew = false) => {
		if (!read || renew || clock.now() - read.at >= TOKEN_FILE_MS)
			read = { at: clock.now(), token: (await textAt(path)).trim() };
		return { token: read.token };
	};
}
