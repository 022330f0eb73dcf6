/**
 * The installed command: help, version, wrong usage, and what it sends (D36). Each command's help:
 * src/cli/framework/run.test.ts.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, type TestContext } from "vitest";
import { COMMANDS } from "../../src/cli/commands/commands.ts";
import { folder } from "../support/service.ts";
import { sluice } from "./command.ts";

function room(test: TestContext): { cwd: string; env: Record<string, string> } {
	const place = folder();
	test.onTestFinished(() => place.remove());
	return {
		cwd: place.path,
		env: { SLUICE_API_KEY: "no-service-is-asked", SLUICE_URL: "http://127.0.0.1:1" },
	};
}

describe("--help", () => {
	it.concurrent("D36: the overview names every command", async (test) => {
		const { stdout } = await sluice(test, ["--help"], room(test));
		for (const { name, summary } of COMMANDS)
			expect(stdout).toMatch(new RegExp(`^  ${name} +${summary.replaceAll("(", "\\(")}$`, "m"));
	});

	it.concurrent("D36: --version is that of the package", async (test) => {
		const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
		expect(await sluice(test, ["--version"], room(test))).toEqual({
			code: 0,
			stdout: `${version}\n`,
			stderr: "",
		});
	});

	it.concurrent("D36: --help of a command prints its arguments and flags", async (test) => {
		expect(await sluice(test, ["jobs", "get", "--help"], room(test))).toEqual({
			code: 0,
			stdout: expect.stringMatching(/^sluice jobs get ENDPOINT JOB \[options\]\n\nPrint a job .*\n  --json /s),
			stderr: "",
		});
	});
});

describe("what cannot be", () => {
	it.concurrent("D36: exits 2 with a sentence, before any service is asked", async (test) => {
		expect(await sluice(test, ["jobs", "get", "words"], room(test))).toEqual({
			code: 2,
			stdout: "",
			stderr: "Missing argument JOB. Usage: sluice jobs get ENDPOINT JOB [options]\n",
		});
	});

	it.concurrent("D36: what is given as an id stays one, whatever it holds", async (test) => {
		const paths: string[] = [];
		const server = createServer((req, res) => {
			paths.push(req.url!);
			res.writeHead(404).end('{"error": "There is no such thing.", "code": "none"}');
		}).listen(0, "127.0.0.1");
		test.onTestFinished(() => void server.close());
		await once(server, "listening");
		const { cwd, env } = room(test);
		const around = {
			cwd,
			env: { ...env, SLUICE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` },
		};
		for (const args of [
			["jobs", "get", "a/../b", `c?d#e${"x".repeat(36)}`],
			["keys", "revoke", "../endpoints/a"],
			["jobs", "list", "a", "--status", "x&y=z"],
		]) {
			expect(await sluice(test, args, around)).toEqual({
				code: 1,
				stdout: "",
				stderr: "There is no such thing.\n",
			});
		}
		expect(paths).toEqual([
			`/v1/endpoints/a%2F..%2Fb/jobs/c%3Fd%23e${"x".repeat(36)}`,
			"/v1/keys/..%2Fendpoints%2Fa",
			"/v1/endpoints/a/jobs?status=x%26y%3Dz",
		]);
	});

	it.concurrent("D36: without a service it is exit 1, and the sentence says what to do", async (test) => {
		expect(await sluice(test, ["endpoints"], room(test))).toMatchObject({
			code: 1,
			stdout: "",
			stderr: expect.stringMatching(/^No service answers at http:\/\/127\.0\.0\.1:1 .*sluice serve/),
		});
	});
});
