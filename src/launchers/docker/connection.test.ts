/** How the daemon is reached by the variables of Docker's own command. */
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { connectionOf } from "./connection.ts";
import { dockerDaemon } from "./daemon.ts";

describe("connectionOf", () => {
	it.each([
		["unix:///x/docker.sock", { socketPath: "/x/docker.sock" }],
		["npipe:////./pipe/x", { socketPath: "//./pipe/x" }],
		["tcp://host:2375", { hostname: "host", port: "2375" }],
		["host:5000", { hostname: "host", port: "5000" }],
		["tcp://host", { hostname: "host", port: "2375" }],
		["http://host:80", { hostname: "host", port: "2375" }],
	])("%s without TLS", (DOCKER_HOST, options) => {
		expect(connectionOf({ DOCKER_HOST })).toMatchObject({ secure: false, options });
	});

	it.each([
		{ DOCKER_HOST: "https://host" },
		{ DOCKER_HOST: "tcp://host:2376" },
		{ DOCKER_HOST: "tcp://host", DOCKER_TLS_VERIFY: "1" },
	])("TLS for %j, with the certificates of DOCKER_CERT_PATH", (env) => {
		const folder = mkdtempSync(join(tmpdir(), "sluice-certificates-"));
		for (const name of ["ca", "cert", "key"]) writeFileSync(join(folder, `${name}.pem`), name);
		expect(connectionOf({ ...env, DOCKER_CERT_PATH: folder })).toEqual({
			address: new URL(env.DOCKER_HOST).host,
			secure: true,
			options: {
				hostname: "host",
				port: "2376",
				ca: Buffer.from("ca"),
				cert: Buffer.from("cert"),
				key: Buffer.from("key"),
			},
		});
		rmSync(folder, { recursive: true });
	});

	it("without DOCKER_HOST the socket of this machine", () => {
		expect(connectionOf({}, "linux").address).toMatch(/docker\.sock$/);
		expect(connectionOf({ DOCKER_HOST: "" }, "win32").address).toBe("//./pipe/docker_engine");
	});

	it("refuses another address with a sentence", () => {
		expect(() => connectionOf({ DOCKER_HOST: "ftp://host" })).toThrow(
			"DOCKER_HOST must be unix://, tcp://, https:// or ssh://, not ftp://host",
		);
	});
});

describe("a daemon over ssh", () => {
	it("is reached through the ssh program", async () => {
		const server = createServer((request, response) => response.end(`{"at":"${request.url}"}`));
		await once(server.listen(0, "127.0.0.1"), "listening");
		const folder = mkdtempSync(join(tmpdir(), "sluice-ssh-"));
		const { port } = server.address() as { port: number };
		// Stands for ssh: connects its own input and output with the server.
		const script = `#!${process.execPath}
require("node:fs").writeFileSync(${JSON.stringify(join(folder, "args"))}, process.argv.slice(2).join(" "));
const socket = require("node:net").connect(${port}, "127.0.0.1");
process.stdin.pipe(socket).pipe(process.stdout);
`;
		writeFileSync(join(folder, "ssh"), script);
		chmodSync(join(folder, "ssh"), 0o755);
		const before = process.env["PATH"];
		process.env["PATH"] = `${folder}:${before}`;
		try {
			const daemon = dockerDaemon({ DOCKER_HOST: "ssh://me@far:2222" });
			expect(daemon.address).toBe("far:2222");
			expect(await daemon.info()).toEqual({ at: "/info" });
		} finally {
			process.env["PATH"] = before;
			server.closeAllConnections();
			server.close();
			rmSync(folder, { recursive: true });
		}
	});
});
