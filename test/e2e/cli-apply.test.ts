/** `sluice diff`, `apply` and `export`: endpoints of a file, set in a running service (D36). */
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { parse } from "yaml";
import { describe, expect, it, type TestContext } from "vitest";
import { call, KEY } from "../support/service.ts";
import { sluice } from "./command.ts";
import { managed } from "./managed.ts";

/** A service with `first` and `other`, and a folder with a file for it. */
async function bench(test: TestContext) {
	const { service, cwd, stdoutOf } = await managed(test, () => ({
		first: { workersMax: 3, env: { TOKEN: "token-of-first" } },
		other: {},
	}));
	const folder = join(cwd, "git");
	mkdirSync(folder);
	const env = { SLUICE_URL: service.url, SLUICE_API_KEY: KEY };
	return {
		service,
		folder,
		stdoutOf,
		write: (text: string, name = "sluice.yaml") => writeFileSync(join(folder, name), text),
		ask: (args: string, q: { input?: string; env?: Record<string, string> } = {}) =>
			sluice(test, args.split(" "), { ...q, cwd: folder, env: { ...env, ...q.env } }),
		ids: async () =>
			(await call(service.url, "/v1/endpoints")).json.endpoints.map(({ id }: { id: string }) => id).toSorted(),
	};
}

/** Address of a proxy that refuses one request, and passes all others on. */
async function refusing({ onTestFinished }: TestContext, to: string, refused: string): Promise<string> {
	const server = createServer((req, res) => {
		const { method = "", url = "", headers } = req;
		if (`${method} ${url}` === refused) return void res.writeHead(503).end('{"error": "The store is full."}');
		const onward = request(to + url, { method, headers }, (answer) => {
			res.writeHead(answer.statusCode!, answer.headers);
			answer.pipe(res);
		});
		req.pipe(onward);
	}).listen(0, "127.0.0.1");
	onTestFinished(() => void server.close());
	await once(server, "listening");
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const FILE = `
gpus: 2
endpoints:
  first:
    workersMax: 5
    idleTimeout: 5m
    env: { TOKEN: "\${FIRST_TOKEN}", MODE: fast }
  second:
    retention: { run: 24h }
`;

describe("sluice diff and apply", () => {
	it.concurrent("D36: print the changes without values of env, apply them, and find none afterwards", async (test) => {
		const { ask, write, ids } = await bench(test);
		write(FILE);
		const env = { FIRST_TOKEN: "token-of-git" };
		const plan =
			"~ first\n" +
			"    ~ workersMax: 3 -> 5\n" +
			"    ~ idleTimeout: 5s -> 5m\n" +
			"    ~ env.TOKEN (the value is not shown)\n" +
			"    + env.MODE (the value is not shown)\n" +
			"+ second (new)\n" +
			"    ~ retention.run: 30m -> 1d\n";
		const end =
			"Not in the file and untouched (--prune deletes them): other\n" +
			"1 to create, 1 to change, 0 to delete, 0 unchanged.\n";
		const ignored = "Only endpoints are compared; the service reads gpus at its start.\n";
		expect(await ask("diff", { env })).toEqual({ code: 2, stdout: plan + end, stderr: ignored });
		expect(await ids()).toEqual(["first", "other"]);

		const refused = await ask("apply", { env });
		expect(refused).toMatchObject({
			code: 2,
			stdout: "",
			stderr: expect.stringContaining(`${plan}${end}Apply 2 changes`),
		});
		expect(refused.stderr).toMatch(/Pass --yes to confirm in non-interactive mode\.\n$/);
		expect(await ids()).toEqual(["first", "other"]);

		expect(await ask("apply --yes", { env })).toEqual({
			code: 0,
			stdout: "Changed endpoint 'first'.\nCreated endpoint 'second'.\n",
			stderr: ignored + plan + end,
		});
		expect(await ask("diff", { env })).toMatchObject({ code: 0, stdout: expect.stringMatching(/^No changes\.$/m) });
		expect(await ask("apply", { env })).toMatchObject({ code: 0, stdout: expect.stringMatching(/^No changes\.$/m) });
		expect((await ask("diff", { env: { FIRST_TOKEN: "another" } })).stdout).toMatch(/^ {4}~ env\.TOKEN \(/m);
	});

	it.concurrent("D36: a member that the file no longer has returns to its default; --prune deletes", async (test) => {
		const { ask, ids } = await bench(test);
		const input = "endpoints: { first: { workersMax: 9 } }";
		expect((await ask("apply -f - --yes", { input })).stdout).toBe("Changed endpoint 'first'.\n");
		expect((await ask("diff -f -", { input: "endpoints: { first: }" })).stdout).toContain("~ workersMax: 9 -> 3\n");
		const pruned = await ask("diff -f - --prune", { input });
		expect(pruned).toMatchObject({ code: 2, stdout: expect.stringContaining("- other (with its jobs)\n0 to create") });
		const json = JSON.parse((await ask("apply -f - --prune --yes --json", { input })).stdout);
		expect(json).toEqual({
			endpoints: [
				{ id: "first", action: "none", applied: false, changes: [] },
				{ id: "other", action: "delete", applied: true, changes: [] },
			],
			untouched: [],
		});
		expect(await ids()).toEqual(["first"]);
		expect(await ask("apply -f - --prune --yes", { input: "gpus: 1" })).toMatchObject({
			code: 2,
			stderr: expect.stringMatching(/^- names no endpoint: --prune would delete all/),
		});
		expect(await ids()).toEqual(["first"]);
	});

	it.concurrent("D36: a failure says what was done and what not, and the same command continues", async (test) => {
		const { ask, write, folder, ids, service } = await bench(test);
		write("endpoints: { a: , b: { launcher: { type: process, command: [w], cwd: later } }, c: }");
		const missing = await ask("diff");
		expect(missing).toMatchObject({
			code: 1,
			stdout: "",
			stderr: expect.stringMatching(/endpoints\.b\.launcher\.cwd/),
		});
		mkdirSync(join(folder, "later"));
		expect((await ask("diff --json")).code).toBe(2);
		const env = { SLUICE_URL: await refusing(test, service.url, "PUT /v1/endpoints/b") };
		const failed = await ask("apply --yes --json", { env });
		expect(failed).toMatchObject({
			code: 1,
			stderr: "Endpoint 'b': The store is full.\nDone: a. Not done: b, c. The same command again continues.\n",
		});
		expect(JSON.parse(failed.stdout).endpoints.map(({ applied }: { applied: boolean }) => applied)).toEqual([
			true,
			false,
			false,
		]);
		expect(await ids()).toEqual(["a", "first", "other"]);
		expect((await ask("apply --yes")).stdout).toBe("Created endpoint 'b'.\nCreated endpoint 'c'.\n");
	});

	it.concurrent("D36: exit code 1 of diff for all failures, with what is wrong in the file", async (test) => {
		const { ask, write } = await bench(test);
		expect(await ask("diff")).toMatchObject({ code: 1, stderr: "Cannot read the file sluice.yaml.\n" });
		expect(await ask("diff --flie x")).toMatchObject({ code: 1, stderr: expect.stringContaining("Unknown option") });
		write("endpoints: { a: { workersMax: -1, env: { T: '${NOT_SET}' } } }");
		const { code, stderr } = await ask("diff");
		expect(code).toBe(1);
		expect(stderr).toMatch(
			/sluice\.yaml: endpoints\.a\.env\.T: the variable NOT_SET is not set\.\n.*workersMax must be/,
		);
		expect((await ask("apply --yes")).code).toBe(2);
		write("endpoints: { a: {} }");
		expect(await ask("diff", { env: { SLUICE_API_KEY: "wrong" } })).toMatchObject({
			code: 1,
			stderr: expect.stringMatching(/^Invalid API key/),
		});
	});
});

describe("sluice export", () => {
	it.concurrent("D36: prints what differs from the defaults; the same file has no changes", async (test) => {
		const { ask, write, stdoutOf, service } = await bench(test);
		await call(service.url, "/v1/endpoints", {
			body: { id: "run", launcher: { type: "process", command: ["w"] }, workersMax: 0, idleTimeout: 300 },
		});
		const { stdout, code, stderr } = await ask("export");
		expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
		expect(parse(stdout)).toEqual({
			endpoints: {
				first: { env: { TOKEN: "${TOKEN}" } },
				other: {},
				run: { workersMax: 0, idleTimeout: "5m", launcher: { type: "process", command: ["w"] } },
			},
		});
		expect(stdout).not.toContain("token-of-first");
		expect(stdout).toMatch(/^# run: its workers start in the folder of the service/m);
		expect(parse(await stdoutOf("export", "other", "first")).endpoints).toEqual({
			other: {},
			first: { env: { TOKEN: "${TOKEN}" } },
		});
		expect(await ask("export nowhere")).toMatchObject({
			code: 1,
			stderr: expect.stringContaining("no endpoint 'nowhere'"),
		});
		write(await stdoutOf("export", "other", "first"));
		expect(await ask("diff", { env: { TOKEN: "token-of-first" } })).toMatchObject({ code: 0, stderr: "" });
		expect(await ask("diff")).toMatchObject({ code: 1, stderr: expect.stringContaining("TOKEN is not set") });
	});
});
