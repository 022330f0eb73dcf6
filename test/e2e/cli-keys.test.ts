/** `sluice keys`, `sluice sessions` and `sluice webhooks` (D30, D31, D21, D36). */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { browser } from "../spec/console/browser.ts";
import { call } from "../support/service.ts";
import { managed } from "./managed.ts";
import { run } from "./site.ts";
import { until } from "../support/until.ts";

describe("sluice keys", () => {
	it.concurrent("D30, D36: create prints the key alone on stdout, the list never; revoke ends it", async (test) => {
		const { ask, as, stdoutOf, service } = await managed(test, () => ({
			words: { launcher: { type: "external" } },
			other: { launcher: { type: "external" } },
		}));
		expect(await stdoutOf("keys")).toMatch(/No API keys besides SLUICE_API_KEY.*sluice keys create/);
		const { code, stdout, stderr } = await ask(
			"keys",
			"create",
			"--name",
			"nightly batch",
			"--scope",
			"read,write",
			"--endpoint",
			"words",
		);
		expect(code).toBe(0);
		expect(stdout).toMatch(/^sluice_[0-9a-f]{48}\n$/);
		const key = stdout.trim();
		expect(stderr).toMatch(
			/^Created key 'nightly batch' with the id \S+: read, write on words\. The key is not shown again\.\n$/,
		);
		const id = /the id (\S+):/.exec(stderr)![1]!;

		expect((await call(service.url, "/v2/words/run", { key, body: { input: {} } })).status).toBe(200);
		expect(await as(key, "jobs", "list", "words")).toMatchObject({ code: 0 });
		expect(await as(key, "jobs", "list", "other")).toMatchObject({
			code: 1,
			stdout: "",
			stderr: expect.stringContaining("valid for endpoint words only"),
		});
		expect(await as(key, "keys", "list")).toMatchObject({
			code: 1,
			stdout: "",
			stderr: expect.stringContaining("needs an API key with the scope admin"),
		});

		const list = await stdoutOf("keys", "list");
		expect(list).toMatch(/^ID +NAME +SCOPES +ENDPOINTS +CREATED +EXPIRES +LAST USED +FROM\n/);
		expect(list).toMatch(
			new RegExp(
				`^${id} +nightly batch +read,write +words +\\S+ \\S+Z +never +20\\S+ \\S+Z +\\S*127\\.0\\.0\\.1$`,
				"m",
			),
		);
		expect(list).not.toContain(key);
		const rotated = await ask("keys", "rotate", id, "--expires", "90d");
		expect(rotated).toMatchObject({
			code: 0,
			stdout: expect.stringMatching(/^sluice_[0-9a-f]{48}\n$/),
			stderr: expect.stringMatching(/^Rotated key 'nightly batch'\. The earlier one is no longer valid/),
		});
		for (const [each, code] of [
			[key, 1],
			[rotated.stdout.trim(), 0],
		] as const)
			expect(await as(each, "jobs", "list", "words")).toMatchObject({ code });
		expect(await ask("keys", "rotate", id, "--expires", "soon")).toMatchObject({
			code: 2,
			stderr: expect.stringContaining("must be numbers with d, h, m, s or ms"),
		});
		expect(await stdoutOf("audit", "--limit", "2")).toMatch(
			new RegExp(`rotateKey +${id} +ok\n.*createKey +${id} +ok\n`),
		);
		expect(await stdoutOf("keys", "revoke", id)).toBe("Revoked key 'nightly batch'.\n");
		expect(await as(key, "jobs", "list", "words")).toMatchObject({
			code: 1,
			stderr: expect.stringContaining("Invalid API key"),
		});
		expect(await ask("keys", "revoke", id)).toMatchObject({
			code: 1,
			stdout: "",
			stderr: expect.stringContaining(`There is no key '${id}'`),
		});
	});

	it.concurrent("D36: flags may be repeated, --json prints all, and a bad scope is reported", async (test) => {
		const { ask } = await managed(test);
		const made = await ask(
			"keys",
			"create",
			"--name",
			"two",
			"--scope",
			"read",
			"--scope",
			"write",
			"--endpoint",
			"a",
			"--endpoint",
			"b",
			"--json",
		);
		expect(made).toMatchObject({ code: 0, stderr: "" });
		expect(JSON.parse(made.stdout)).toMatchObject({
			name: "two",
			scopes: ["read", "write"],
			endpoints: ["a", "b"],
			key: expect.stringMatching(/^sluice_/),
		});
		expect(JSON.parse((await ask("keys", "create", "--name", "least", "--json")).stdout)).toMatchObject({
			scopes: ["read"],
		});
		expect(await ask("keys", "create", "--name", "bad", "--scope", "root")).toMatchObject({
			code: 2,
			stdout: "",
			stderr: "--scope must be read, write or admin, not 'root'.\n",
		});
		expect(await ask("keys", "create")).toMatchObject({
			code: 2,
			stdout: "",
			stderr: expect.stringContaining("Missing option --name"),
		});
	});
});

describe("sluice sessions", () => {
	it.concurrent("D31, D36: lists sessions, ends one and all", async (test) => {
		const { ask, stdoutOf, service } = await managed(test);
		expect(await stdoutOf("sessions")).toMatch(/No one is signed in.*sluice console\n$/);
		const pages = [browser(service), browser(service), browser(service)];
		for (const page of pages) await page.signIn();
		const list = await stdoutOf("sessions", "list");
		expect(list).toMatch(
			/^ID +KEY +BY +CLIENT +ADDRESS +SIGNED IN +LAST USED +EXPIRES\n(\S+ +SLUICE_API_KEY +key +.*Z\n){3}$/,
		);
		const [id = ""] = list.split("\n")[1]!.split(" ");
		expect(await stdoutOf("sessions", "end", id)).toBe(`Ended session ${id}.\n`);
		expect(await ask("sessions", "end", id)).toMatchObject({
			code: 1,
			stdout: "",
			stderr: expect.stringContaining(`There is no session '${id}'`),
		});
		for (const words of [[], [id, "--all"], ["--all", "--key-id", "x"]])
			expect(await ask("sessions", "end", ...words)).toMatchObject({
				code: 2,
				stderr: expect.stringContaining("Usage: sluice sessions end ID"),
			});
		expect(await stdoutOf("sessions", "end", "--key-id", "none")).toBe("Ended 0 sessions.\n");
		const statuses = await Promise.all(pages.map((page) => page.send("/v1/keys")));
		const refused = statuses.filter(({ status }) => status === 401);
		expect([refused.length, statuses.length]).toEqual([1, 3]);
		expect(await stdoutOf("sessions", "end", "--all", "--json")).toBe('{"ended":2}\n');
		for (const page of pages) expect((await page.send("/v1/keys")).status).toBe(401);
	});
});

describe("sluice webhooks", () => {
	it.concurrent("D21, D36: lists deliveries, and sends one again", async (test) => {
		const got: string[] = [];
		const receiver = createServer((req, res) => {
			got.push(String(req.headers["webhook-id"]));
			req.resume().on("end", () => res.end());
		}).listen(0, "127.0.0.1");
		test.onTestFinished(() => void receiver.close());
		await once(receiver, "listening");
		const { stdoutOf, ask, service, place } = await managed(test, () => ({
			words: { launcher: { type: "external" } },
		}));
		expect(await stdoutOf("webhooks")).toMatch(/No deliveries.*"webhook"/);
		await service.end();
		const open = await place.serve({ env: { SLUICE_WEBHOOKS_ALLOW_PRIVATE_NETWORKS: "true" } });
		expect(open.url).toBe(service.url);

		const webhook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
		const { json } = await call(service.url, "/v2/words/run", { body: { input: {}, webhook } });
		await run(service, "words", {});
		await stdoutOf("jobs", "cancel", "words", json.id);
		const list = await until("the delivery", async () => {
			const text = await stdoutOf("webhooks", "list", "--endpoint", "words", "--job", json.id);
			return / delivered /.test(text) && text;
		});
		expect(list).toMatch(/^ID +ENDPOINT +STATE +CREATED +TRIES +LAST RESPONSE +URL\n/);
		const [id = ""] = list.split("\n")[1]!.split(" ");
		expect(list).toMatch(new RegExp(`^${id} +words +delivered +\\S+ \\S+Z +1 +200 +${webhook}$`, "m"));
		expect(await stdoutOf("webhooks", "list", "--state", "failed")).toBe("No matching deliveries.\n");
		expect(await stdoutOf("webhooks", "redeliver", id)).toBe(`Queued delivery ${id} again.\n`);
		await until("it to come again", () => got.filter((each) => each === id).length === 2);
		expect(await ask("webhooks", "redeliver", "none")).toMatchObject({
			code: 1,
			stdout: "",
			stderr: expect.stringContaining("There is no webhook delivery 'none'"),
		});
	});
});
