/** Every command explains itself, and says what is wrong with how it was called (D36). */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import type { TestContext } from "vitest";
import { synopsisOf } from "../../src/cli/command.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { folder } from "../support/service.ts";
import { sluice } from "./command.ts";

const NOUNS = COMMANDS.flatMap((command) => ("actions" in command ? [command] : []));
const ACTIONS = NOUNS.flatMap(({ name, actions }) =>
	actions.map((action) => [`${name} ${action.name}`, action] as const),
);

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
		const { version } = JSON.parse(
			readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
		);
		expect(await sluice(test, ["--version"], room(test))).toEqual({
			code: 0,
			stdout: `${version}\n`,
			stderr: "",
		});
	});

	it.concurrent.each(NOUNS.map(({ name, actions }) => [name, actions] as const))(
		"D36: sluice %s names everything that can be done",
		async (name, actions) => {
			const place = folder();
			const { code, stdout, stderr } = await sluice(
				{ onTestFinished: () => {} },
				[name, "--help"],
				{ cwd: place.path },
			);
			place.remove();
			expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
			for (const action of actions)
				expect(stdout).toContain(
					`  ${name} ${action.name}${action.args.map((each) => ` ${each}`).join("")}  `,
				);
		},
	);

	it.concurrent.each(ACTIONS)(
		"D36: sluice %s --help prints its arguments and flags",
		async (words, action) => {
			const place = folder();
			const { code, stdout, stderr } = await sluice(
				{ onTestFinished: () => {} },
				[...words.split(" "), "--help"],
				{ cwd: place.path },
			);
			place.remove();
			expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
			expect(stdout.split("\n")[0]).toBe(`sluice ${words} ${synopsisOf(action)}`);
			for (const [flag, { summary }] of Object.entries(action.flags))
				expect(stdout).toMatch(
					new RegExp(
						`^  (?:-\\w, )?--${flag}\\b.*${summary.slice(0, 20).replace(/[(),.]/g, ".")}`,
						"m",
					),
				);
		},
	);
});

describe("what cannot be", () => {
	it.concurrent("D36: exits 2 with a sentence, before any service is asked", async (test) => {
		const around = room(test);
		const cases: [string[], RegExp][] = [
			[["jobs"], /^Missing argument ENDPOINT\. Usage: sluice jobs list ENDPOINT \[options\]\n$/],
			[
				["jobs", "get", "words"],
				/^Missing argument JOB\. Usage: sluice jobs get ENDPOINT JOB \[options\]\n$/,
			],
			[
				["jobs", "get", "words", "id", "more"],
				/^Unexpected argument 'more'\. Usage: sluice jobs get/,
			],
			[["jobs", "stop"], /^Unknown command 'jobs stop'\..*jobs cancel ENDPOINT JOB/s],
			[["endpoints", "list", "--colour"], /^Unknown option '--colour'\.\n\nsluice endpoints list/],
			[["keys", "revoke", "a", "b"], /^Unexpected argument 'b'\./],
			[["endpoints", "delete", "words"], /--yes/],
		];
		for (const [args, says] of cases)
			expect(await sluice(test, args, around), args.join(" ")).toMatchObject({
				code: 2,
				stdout: "",
				stderr: expect.stringMatching(says),
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
			["jobs", "get", "a/../b", "c?d#e"],
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
			"/v1/endpoints/a%2F..%2Fb/jobs/c%3Fd%23e",
			"/v1/keys/..%2Fendpoints%2Fa",
			"/v1/endpoints/a/jobs?status=x%26y%3Dz",
		]);
	});

	it.concurrent("D36: without a service it is exit 1, and the sentence says what to do", async (test) => {
		expect(await sluice(test, ["endpoints"], room(test))).toMatchObject({
			code: 1,
			stdout: "",
			stderr: expect.stringMatching(
				/^No service answers at http:\/\/127\.0\.0\.1:1 .*sluice serve/,
			),
		});
	});
});
