/** How to reach the Docker daemon: `DOCKER_HOST` and the other variables of Docker's CLI. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import type { RequestOptions } from "node:https";
import { homedir } from "node:os";
import { join } from "node:path";
import { Duplex } from "node:stream";

export type Env = Readonly<Record<string, string | undefined>>;

/** `options` for `node:https` if `secure`, else `node:http`. */
export interface Connection {
	address: string;
	secure: boolean;
	options: RequestOptions;
}

const PIPE = "//./pipe/docker_engine";
const TLS_PORT = "2376";
const PLAIN_PORT = "2375";

/**
 * A socket (`unix://`, `npipe://`), `tcp://`, `http://`, `https://` with the certificates of
 * `DOCKER_CERT_PATH`, or `ssh://`; default: the local socket. Throws an Error for others.
 */
export function connectionOf(env: Env, platform = process.platform): Connection {
	const host = env["DOCKER_HOST"] || (platform === "win32" ? `npipe://${PIPE}` : "unix://");
	const socket = /^(?:unix|npipe):\/\/(.*)$/.exec(host);
	if (socket) {
		const fallback = host.startsWith("npipe") ? PIPE : defaultSocket();
		const socketPath = socket[1] || fallback;
		return { address: socketPath, secure: false, options: { socketPath } };
	}
	const url = URL.parse(host.includes("//") ? host : `tcp://${host}`);
	if (!url || !["tcp:", "http:", "https:", "ssh:"].includes(url.protocol))
		throw new Error(`DOCKER_HOST must be unix://, tcp://, https:// or ssh://, not ${host}`);
	const { hostname, port, protocol } = url;
	if (protocol === "ssh:") {
		const createConnection = (): Duplex => overSsh(url);
		return { address: url.host, secure: false, options: { createConnection } };
	}
	const secure = protocol === "https:" || env["DOCKER_TLS_VERIFY"] === "1" || port === TLS_PORT;
	return {
		address: url.host,
		secure,
		options: {
			hostname,
			port: port || (secure ? TLS_PORT : PLAIN_PORT),
			...(secure && certificates(env["DOCKER_CERT_PATH"])),
		},
	};
}

/** Docker Desktop's socket is in the home directory. */
function defaultSocket(): string {
	const own = join(homedir(), ".docker", "run", "docker.sock");
	return existsSync(own) ? own : "/var/run/docker.sock";
}

function certificates(folder: string | undefined): RequestOptions {
	if (!folder) return {};
	const read = (name: string): Buffer => readFileSync(join(folder, name));
	return { ca: read("ca.pem"), cert: read("cert.pem"), key: read("key.pem") };
}

/** As Docker's CLI does. */
function overSsh({ hostname, port, username }: URL): Duplex {
	const to = [...(port ? ["-p", port] : []), ...(username ? ["-l", username] : []), "--", hostname];
	const child = spawn("ssh", ["-o", "BatchMode=yes", ...to, "docker", "system", "dial-stdio"], {
		stdio: ["pipe", "pipe", "ignore"],
	});
	const stream = Duplex.from({ readable: child.stdout, writable: child.stdin });
	child.once("error", (error) => stream.destroy(error));
	stream.once("close", () => child.kill());
	return stream;
}
