/** How the daemon is reached by the variables of Docker's own command. */
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { OWN_VARIABLES, withoutSecrets } from "../../../kernel/config/options.ts";
import { connectionOf } from "./connection.ts";
import { type Daemon, dockerDaemon } from "../daemon.ts";

describe("connectionOf", () => {
	it.each([
		["unix:///x/docker.sock", { socketPath: "/x/docker.sock" }],
		["tcp://host:2375", { hostname: "host", port: "2375" }],
		["host:5000", { hostname: "host", port: "5000" }],
		["tcp://host", { hostname: "host", port: "2375" }],
		["http://host:80", { hostname: "host", port: "2375" }],
	])("%s without TLS", async (DOCKER_HOST, options) => {
		const connection = connectionOf({ DOCKER_HOST });
		expect(connection.secure).toBe(false);
		expect(await connection.options()).toEqual(options);
	});

	it.each([
		{ DOCKER_HOST: "https://host" },
		{ DOCKER_HOST: "tcp://host:2376" },
		{ DOCKER_HOST: "tcp://host", DOCKER_TLS_VERIFY: "1" },
	])("TLS for %j, with the certificates of DOCKER_CERT_PATH", async (env) => {
		const folder = mkdtempSync(join(tmpdir(), "sluice-certificates-"));
		for (const name of ["ca", "cert", "key"]) writeFileSync(join(folder, `${name}.pem`), name);
		const connection = connectionOf({ ...env, DOCKER_CERT_PATH: folder });
		expect(connection).toMatchObject({ address: new URL(env.DOCKER_HOST).host, secure: true });
		expect(await connection.options()).toEqual({
			hostname: "host",
			port: "2376",
			ca: Buffer.from("ca"),
			cert: Buffer.from("cert"),
			key: Buffer.from("key"),
		});
		rmSync(folder, { recursive: true });
		await expect(connection.options()).rejects.toThrow("the certificates cannot be read: ENOENT");
	});

	it("D27: only with a socket its pids are those of this machine", () => {
		const isLocal = (DOCKER_HOST: string): boolean => connectionOf({ DOCKER_HOST }).isLocal;
		expect(["", "unix:///x", "tcp://host", "https://host", "ssh://host"].map(isLocal)).toEqual([
			true,
			true,
			false,
			false,
			false,
		]);
	});

	it("without DOCKER_HOST the socket of this machine", () => {
		expect(connectionOf({}).address).toMatch(/docker\.sock$/);
	});

	it("refuses another address with a sentence", () => {
		expect(() => connectionOf({ DOCKER_HOST: "ftp://host" })).toThrow(
			"DOCKER_HOST must be unix://, tcp://, https:// or ssh://, not ftp://host",
		);
	});
});

describe("a daemon over ssh", () => {
	/**
	 * Stands for ssh: forwards the socket to a server here, and answers questions. `before`: code that
	 * runs first.
	 */
	async function withSsh(before: string, use: (daemon: Daemon, args: () => string[]) => Promise<void>): Promise<void> {
		const server = createServer((request, response) => response.end(`{"at":"${request.url}"}`));
		await once(server.listen(0, "127.0.0.1"), "listening");
		const folder = mkdtempSync(join(tmpdir(), "sluice-ssh-"));
		const { port } = server.address() as { port: number };
		const script = `#!${process.execPath}
const args = process.argv.slice(2);
require("node:fs").writeFileSync(${JSON.stringify(join(folder, "args"))}, JSON.stringify(args));
const { createServer, connect } = require("node:net");
${before}
createServer((from) => from.pipe(connect(${port}, "127.0.0.1")).pipe(from))
	.listen(args[args.indexOf("-L") + 1].split(":")[0], () => process.stdin.on("data", () =>
		process.stdout.write("/dev/sda1 2000 1500 500 75% /\\n.\\n")).on("end", () => process.exit()));
`;
		writeFileSync(join(folder, "ssh"), script);
		chmodSync(join(folder, "ssh"), 0o755);
		const path = process.env["PATH"];
		process.env["PATH"] = `${folder}:${path}`;
		for (const name of OWN_VARIABLES) process.env[name] ??= "secret";
		const env = { ...withoutSecrets(process.env), DOCKER_HOST: "ssh://me@far:2222/run/d.sock" };
		const daemon = dockerDaemon(connectionOf(env));
		try {
			const read = (): string[] => JSON.parse(readFileSync(join(folder, "args"), "utf8")) as string[];
			await use(daemon, read);
		} finally {
			daemon.close();
			process.env["PATH"] = path;
			server.closeAllConnections();
			server.close();
			rmSync(folder, { recursive: true });
		}
	}

	it("D44: is reached through a socket that one ssh forwards, which also knows the free space", () =>
		withSsh("", async (daemon, args) => {
			expect(daemon.address).toBe("far:2222");
			expect(await daemon.info()).toEqual({ at: "/info" });
			const first = args();
			expect(first.join(" ")).toMatch(/ -p 2222 -l me -- far exec sh -c /);
			expect(first.join(" ")).toMatch(/ -L \S+\/docker\.sock:\/run\/d\.sock .*BatchMode=yes/);
			expect(await daemon.freeDisk({ DockerRootDir: "/var/lib/docker" })).toBe(500 * 1024);
			expect(args(), "one process for all calls").toEqual(first);
		}));

	/** In place of the program above: the shell here. */
	const shell = 'return require("node:child_process").spawn("sh", ["-c", args.at(-1)], { stdio: "inherit" });';

	it("D44: only an absolute path of a daemon's reaches the shell over there", () =>
		withSsh(shell, async (daemon) => {
			const free = (path: unknown): Promise<number | undefined> => daemon.freeDisk({ DockerRootDir: path as string });
			for (const path of ["/\n/proc", "/\0", "-a", "--total", "var", "", {}, 7, `/${"x".repeat(5000)}`])
				expect(await free(path), JSON.stringify(path).slice(0, 20)).toBeUndefined();
			expect(await free("/$(id)`id`;id"), "not there").toBeUndefined();
			expect(await free("/")).toBeGreaterThan(0);
			expect(await free("/proc")).toBe(0);
		}));

	it("D44: ssh gets no secrets of the service", () =>
		withSsh('require("node:fs").writeFileSync(__filename + ".env", JSON.stringify(process.env));', async (daemon) => {
			await daemon.info();
			const [folder] = process.env["PATH"]!.split(":");
			const env = JSON.parse(readFileSync(join(folder!, "ssh.env"), "utf8")) as Record<string, string>;
			expect(env["PATH"]).toBe(process.env["PATH"]);
			expect(OWN_VARIABLES.filter((name) => name in env)).toEqual([]);
		}));

	it("D44: what ssh prints without end is not held", () => {
		const print = 'for (let n = 0; n < 3200; n += 1) require("node:fs").writeSync(1 + (n % 2), "x".repeat(65536));';
		return withSsh(print, async (daemon) => {
			const held = (): number => process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
			const before = held();
			await daemon.info();
			expect(held() - before).toBeLessThan(100 * 1024 ** 2);
		});
	});

	it.each([
		["Host key verification failed.", /ssh does not know far:2222 .*run ssh far:2222 once/],
		["me@far: Permission denied (publickey).", /ssh to far:2222 is refused .*without passphrase/],
		["ssh: Could not resolve hostname far", /ssh to far:2222 failed: ssh: Could not resolve/],
	])("D44: says what ssh says: %s", (said, sentence) =>
		withSsh(`console.error(${JSON.stringify(said)}); process.exit(255);`, async (daemon) => {
			await expect(daemon.info()).rejects.toThrow(sentence);
		}),
	);

	it("D44: a daemon that does not run there is not a fault of ssh", () =>
		withSsh(
			`console.error("channel 2: open failed: connect failed: open failed");
createServer((from) => from.destroy()).listen(args[args.indexOf("-L") + 1].split(":")[0], () =>
	process.stdin.on("data", () => process.stdout.write(".\\n"))); return;`,
			async (daemon) => {
				await expect(daemon.info()).rejects.toThrow(
					"ssh reaches far:2222, but not the Docker daemon at /run/d.sock there (channel 2: open failed",
				);
			},
		));
});
