import { access, readFile } from "node:fs/promises";
import type { RequestOptions } from "node:https";
import { homedir } from "node:os";
import { join } from "node:path";
import type { HostSettings } from "./host-schema.ts";
import { fileCalls } from "../../../kernel/system/file-calls.ts";
import { sshTunnel } from "./ssh-tunnel.ts";
import type { Env } from "../../../kernel/lib/env.ts";

export interface Connection {
	/** Socket path, or host and port. */
	readonly address: string;
	readonly secure: boolean;
	/** Whether it is a socket of this machine. */
	readonly isLocal: boolean;
	/** Returns options for `node:https` if `secure`, else for `node:http`. Rejects if the machine cannot be reached. */
	options(): Promise<RequestOptions>;
	faultOf(error: Error): Error;
	/** Free bytes at a path of the daemon's machine; undefined if unknown. */
	freeBytes(path: unknown): Promise<number | undefined>;
	close(): void;
}

type Certificates = NonNullable<HostSettings["tls"]>;

const SOCKET = "/var/run/docker.sock";
const TLS_PORT = "2376";
const PLAIN_PORT = "2375";

/**
 * Takes `unix://`, `tcp://`, `http://`, `https://` with `DOCKER_CERT_PATH`, or `ssh://`. Throws an Error
 * for others. Default: the local socket.
 */
export function connectionOf(env: Env): Connection {
	const host = env["DOCKER_HOST"] || "unix://";
	const folder = env["DOCKER_CERT_PATH"];
	return connectionTo(host, {
		env,
		secure: env["DOCKER_TLS_VERIFY"] === "1",
		certificates: folder
			? {
					ca: join(folder, "ca.pem"),
					cert: join(folder, "cert.pem"),
					key: join(folder, "key.pem"),
				}
			: undefined,
	});
}

export function connectionTo(
	host: string,
	{ env, secure, certificates }: { env: Env; secure: boolean; certificates: Certificates | undefined },
): Connection {
	const socket = /^unix:\/\/(.*)$/.exec(host);
	if (socket) {
		const options = async () => ({ socketPath: socket[1] || (await defaultSocket()) });
		return { ...direct(socket[1] || SOCKET, false, options), isLocal: true };
	}
	const url = URL.parse(host.includes("//") ? host : `tcp://${host}`);
	if (!url || !["tcp:", "http:", "https:", "ssh:"].includes(url.protocol))
		throw new Error(`DOCKER_HOST must be unix://, tcp://, https:// or ssh://, not ${host}`);
	const { hostname, port, protocol } = url;
	if (protocol === "ssh:") {
		const { open, ...tunnel } = sshTunnel(url, env);
		const options = async (): Promise<RequestOptions> => ({ socketPath: await open() });
		return { address: url.host, secure: false, isLocal: false, options, ...tunnel };
	}
	const isSecure = secure || protocol === "https:" || port === TLS_PORT;
	return direct(url.host, isSecure, async () => ({
		hostname,
		port: port || (isSecure ? TLS_PORT : PLAIN_PORT),
		...(isSecure && certificates && (await read(certificates))),
	}));
}

function direct(address: string, secure: boolean, options: Connection["options"]): Connection {
	return {
		address,
		secure,
		isLocal: false,
		options,
		faultOf: (error) => error,
		freeBytes: async () => undefined,
		close() {},
	};
}

/** Docker Desktop's socket is in the home directory. */
async function defaultSocket(): Promise<string> {
	const own = join(homedir(), ".docker", "run", "docker.sock");
	return await fileCalls
		.run(own, () => access(own))
		.then(
			() => own,
			() => SOCKET,
		);
}

/** Reads the certificates, for each call, since they are renewed in place. */
async function read({ ca, cert, key }: Certificates): Promise<RequestOptions> {
	try {
		const [caText, certText, keyText] = await Promise.all(
			[ca, cert, key].map((path) => fileCalls.run(path, () => readFile(path))),
		);
		return { ca: caText, cert: certText, key: keyText };
	} catch (cause) {
		throw new Error(`the certificates cannot be read: ${(cause as Error).message}`, { cause });
	}
}
