/**
 * A real registry of images on loopback (Debian's docker-registry), behind a proxy that holds back
 * bytes or answers with faults, and images that only it has.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { docker, noDocker } from "./docker.ts";
import { freePort } from "./free-port.ts";
import { until } from "./until.ts";

/** The only user, and the line of htpasswd for it. */
export const LOGIN = { username: "ci", password: "pull-secret-7f3a" };
const HTPASSWD = "$2b$05$abcdefghijklmnopqrstuuMv1a6eWTSQfw2zEqhsBIv/SzZtUtnda";

/** Why tests with a registry cannot run here; undefined where they can. */
export const noRegistry: string | undefined =
	noDocker ??
	((process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, "docker-registry")))
		? undefined
		: "docker-registry not found: apt-get install docker-registry");

/** The title of a suite, with the reason why it does not run. */
export function titled(title: string): string {
	return noRegistry === undefined ? title : `${title} (skipped: ${noRegistry})`;
}

export interface TestRegistry {
	/** As the first part of images: an address of loopback, which Docker trusts without TLS. */
	readonly name: string;
	/** Reads of manifests so far: one for each pull. */
	readonly pulls: number;
	/** Holds bytes of blobs back until {@link allow} and {@link pass}. */
	hold(): void;
	/** Lets so many more of them pass. Docker reports progress at most every 100 ms. */
	allow(bytes: number): void;
	pass(): void;
	/** Answers every request with this status and body from now on; undefined: no more. */
	fail(fault: { status: number; body: string } | undefined): void;
	/**
	 * Pushes an image of random bytes, without programs, and removes it from the daemon; returns its
	 * name.
	 */
	push(name: string, megabytes?: number): Promise<string>;
	close(): Promise<void>;
}

/** With `users`, only {@link LOGIN} may pull and push. */
export async function dockerRegistry({ users = false } = {}): Promise<TestRegistry> {
	const folder = mkdtempSync(join(tmpdir(), "sluice-registry-"));
	const port = await freePort();
	const config = join(folder, "config.json");
	writeFileSync(join(folder, "htpasswd"), `${LOGIN.username}:${HTPASSWD}\n`);
	writeFileSync(
		config,
		JSON.stringify({
			version: 0.1,
			log: { level: "error", accesslog: { disabled: true } },
			storage: { filesystem: { rootdirectory: join(folder, "data") } },
			http: { addr: `127.0.0.1:${port}` },
			...(users && { auth: { htpasswd: { realm: "test", path: join(folder, "htpasswd") } } }),
		}),
	);
	const registry = spawn("docker-registry", ["serve", config], { stdio: "ignore" });

	let fault: { status: number; body: string } | undefined;
	let pulls = 0;
	let allowed = Infinity;
	let waiting = Promise.withResolvers<void>();
	function allow(bytes: number): void {
		allowed += bytes;
		waiting.resolve();
		waiting = Promise.withResolvers();
	}
	/** Holds back what exceeds `allowed`. */
	const gate = (): Transform =>
		new Transform({
			highWaterMark: 16_384,
			transform(chunk: Buffer, _encoding, done) {
				void (async () => {
					let left = chunk;
					while (left.length > allowed) {
						this.push(left.subarray(0, allowed));
						left = left.subarray(allowed);
						allowed = 0;
						await waiting.promise;
					}
					allowed -= left.length;
					done(null, left);
				})();
			},
		});

	const proxy = createServer((req, res) => {
		if (fault) return void res.writeHead(fault.status).end(fault.body);
		const isBlob = req.method === "GET" && /\/blobs\//.test(req.url ?? "");
		if (req.method === "GET" && /\/manifests\//.test(req.url ?? "")) pulls += 1;
		const { method, url, headers } = req;
		const onward = request({ port, host: "127.0.0.1", method, path: url, headers }, (answer) => {
			res.writeHead(answer.statusCode ?? 502, answer.headers);
			pipeline(isBlob ? [answer, gate(), res] : [answer, res]).catch(() => {});
		});
		onward.on("error", () => res.destroy());
		req.pipe(onward);
	});
	await once(proxy.listen(0, "127.0.0.1"), "listening");
	const name = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
	await until("the registry to answer", async () => (await fetch(`http://${name}/v2/`)).status);

	const login = join(folder, "docker");
	mkdirSync(login);
	const auth = Buffer.from(`${LOGIN.username}:${LOGIN.password}`).toString("base64");
	writeFileSync(join(login, "config.json"), JSON.stringify({ auths: { [name]: { auth } } }));

	return {
		name,
		get pulls() {
			return pulls;
		},
		hold: () => void (allowed = 0),
		allow,
		pass: () => allow(Infinity),
		fail: (next) => void (fault = next),
		async push(path, megabytes = 1) {
			const image = `${name}/${path}`;
			const root = mkdtempSync(join(folder, "image-"));
			const script = 'cd "$1" && mkdir tmp && head -c "$2" /dev/urandom >random && tar -c . | docker import - "$3"';
			const size = String(Math.round(megabytes * 1e6));
			await promisify(execFile)("sh", ["-c", script, "sh", root, size, image]);
			await docker("--config", login, "push", "--quiet", image);
			await docker("rmi", image);
			return image;
		},
		async close() {
			waiting.resolve();
			proxy.closeAllConnections();
			proxy.close();
			if (registry.exitCode === null) {
				registry.kill("SIGKILL");
				await once(registry, "exit");
			}
			rmSync(folder, { recursive: true, force: true });
		},
	};
}
