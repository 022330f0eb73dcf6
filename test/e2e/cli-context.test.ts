/** Which service commands call: contexts, `--url`, `--key` (D36). */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { KEY } from "../support/service.ts";
import { sluice } from "./command.ts";
import { managed } from "./managed.ts";

/** Runs commands without variables for the service. */
async function contexts(test: TestContext) {
	const { service, cwd } = await managed(test, () => ({
		words: { launcher: { type: "external" } },
	}));
	const ask = (args: string[], q: { input?: string; env?: Record<string, string> } = {}) =>
		sluice(test, args, { cwd, ...q });
	return { service, ask, file: join(cwd, "config/sluice/contexts.json") };
}

const ADD = ["context", "add"];

describe("sluice context", () => {
	it.concurrent("D36: stores address and key for this user only, and never prints the key", async (test) => {
		const { service, ask, file } = await contexts(test);
		expect((await ask(["context"])).stdout).toMatch(/^No contexts\. Add one: sluice context add/);
		const added = await ask([...ADD, "here", "--url", service.url], { input: `${KEY}\n` });
		expect(added).toEqual({
			code: 0,
			stdout: "Stored context 'here'; commands use it from now on.\n",
			stderr: "",
		});
		expect(statSync(file).mode & 0o777).toBe(0o600);
		expect(readFileSync(file, "utf8")).toContain(KEY);
		expect((await ask(["endpoints"])).stdout).toContain("words");
		await ask([...ADD, "there", "--url", "http://127.0.0.1:1/", "--key", "other-key"]);
		for (const flag of [[], ["--json"]]) {
			const listed = await ask(["context", "list", ...flag]);
			expect(listed.stdout).toContain("there");
			expect(listed.stdout).not.toMatch(new RegExp(`${KEY}|other-key`));
		}
		expect((await ask(["endpoints", "--context", "there"])).stderr).toContain("127.0.0.1:1 ");
		expect((await ask(["context", "use", "there"])).stdout).toContain("Commands use 'there'");
		expect((await ask(["context", "list"])).stdout).toMatch(/^\* +there/m);
		expect((await ask(["endpoints"])).stderr).toContain("127.0.0.1:1 ");
		expect((await ask(["endpoints"], { env: { SLUICE_CONTEXT: "here" } })).code).toBe(0);
		await ask(["context", "remove", "there"]);
		expect(readFileSync(file, "utf8")).not.toContain("other-key");
		expect(await ask(["endpoints", "--context", "there"])).toEqual({
			code: 2,
			stdout: "",
			stderr: "There is no context 'there'; there are here.\n",
		});
	});

	it.concurrent("D36: a context's key goes to its address only, the variables stay together", async (test) => {
		const { service, ask } = await contexts(test);
		await ask([...ADD, "here", "--url", service.url, "--key", KEY]);
		// Another address has no key then.
		expect(await ask(["endpoints", "--url", "http://127.0.0.1:1"])).toMatchObject({
			code: 2,
			stderr: expect.stringMatching(/^No API key: set SLUICE_API_KEY, pass --key/),
		});
		// One of the variables replaces the current context as a whole.
		expect(await ask(["endpoints"], { env: { SLUICE_URL: "http://127.0.0.1:1" } })).toMatchObject({
			code: 2,
			stderr: expect.stringContaining("No API key"),
		});
		const env = { SLUICE_URL: "http://127.0.0.1:1", SLUICE_API_KEY: "x" };
		expect((await ask(["endpoints", "--url", service.url, "--key", KEY], { env })).code).toBe(0);
		expect((await ask(["endpoints", "--context", "here"], { env })).code).toBe(0);
	});

	it.concurrent("D36: a refused key is named by where it comes from", async (test) => {
		const { service, ask } = await contexts(test);
		const url = ["--url", service.url];
		const refused = async (args: string[], env = {}) => (await ask(args, { env })).stderr;
		expect(await refused(["endpoints", ...url], { SLUICE_API_KEY: "wrong" })).toBe(
			"Invalid API key: check SLUICE_API_KEY or --key.\n",
		);
		expect(await refused(["endpoints", ...url, "--key", "wrong"])).toBe("Invalid API key: check --key.\n");
		await ask([...ADD, "here", ...url, "--key", "wrong"]);
		expect(await refused(["endpoints"])).toBe("Invalid API key: check context 'here'.\n");
		expect(await refused(["jobs", "submit", "words", "--input", "{}"])).toBe(
			"Invalid API key: check context 'here'.\n",
		);
		expect(await refused([...ADD, "a b", ...url, "--key", "k"])).toMatch(/^The name of a context is/);
		expect(await refused([...ADD, "a", "--url", "ftp://x", "--key", "k"])).toMatch(/^--url must begin/);
		expect(await refused([...ADD, "a", ...url])).toBe("The key is empty. Pass it on stdin.\n");
	});

	it.concurrent("D36: errors are in words of the command", async (test) => {
		const { service, ask } = await contexts(test);
		await ask([...ADD, "here", "--url", service.url, "--key", KEY]);
		expect((await ask(["endpoints", "create", "words"])).stderr).toMatch(
			/Change it with 'sluice endpoints update words', or choose another id\.\n$/,
		);
		expect((await ask(["endpoints", "get", "none"])).stderr).toMatch(
			/'sluice endpoints list' lists those that exist\.\n$/,
		);
	});
});
