/**
 * Secrets of all kinds, in a service as a process that uses them, fails with them and logs all it can: none is in what
 * it writes or sends to others (D22, D30, D31, D42, D45, D47, D51, D52).
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { call } from "../support/service.ts";
import { spansIn } from "../support/otlp.ts";
import { until } from "../support/until.ts";
import { webhookReceiver } from "../support/webhook-receiver.ts";
import { browser } from "../spec/console/browser.ts";
import { sluice } from "./command.ts";
import { site } from "./site.ts";

const planted = (name: string): string => `planted-${name}-0123456789abcdef`;

const SECRETS = {
	apiKey: planted("api-key"),
	serviceSecret: planted("service-secret"),
	env: planted("env"),
	stored: planted("stored"),
	fileLogin: planted("file-login"),
	login: planted("login"),
	otherLogin: planted("other-login"),
	template: planted("template"),
	s3: planted("s3"),
	hookPassword: planted("hook-password"),
	hookPath: planted("hook-path"),
	hookQuery: planted("hook-query"),
	header: planted("header"),
	query: planted("query"),
	body: planted("body"),
	otlp: planted("otlp"),
	webhook: `whsec_${Buffer.alloc(32, 7).toString("base64")}`,
};

/** Prints all that it was given, then fails. */
const CRASHES = ["sh", "-c", "env; env | grep -E '^(RUNPOD|TOKEN|SLUICE)'; exit 7"];

it.for(["json", "text"])(
	"D22, D42, D47, D51, D52: no secret is in what the service writes and sends, log as %s",
	{
		timeout: 120_000,
	},
	async (format, test) => {
		const receiver = await webhookReceiver({ reply: (_request, number) => (number === 0 ? 500 : 200) });
		const collector = await webhookReceiver();
		const place = site(test);
		const service = await place.serve({
			endpoints: {
				ep: { env: { TOKEN: SECRETS.env }, webhookSecret: SECRETS.webhook },
				crash: {
					launcher: { type: "process", command: CRASHES },
					env: { TOKEN: SECRETS.env, STORED: "{{ RUNPOD_SECRET_stored }}" },
				},
			},
			file: {
				webhooks: { allowPrivateNetworks: true },
				log: { level: "debug", access: "all", format },
				registries: { "file.example.com": { username: "u", passwordEnv: "FILE_LOGIN" } },
			},
			env: {
				SLUICE_API_KEY: SECRETS.apiKey,
				SLUICE_SECRET: SECRETS.serviceSecret,
				SLUICE_LOG_FORMAT: "",
				FILE_LOGIN: SECRETS.fileLogin,
				OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
				OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer ${SECRETS.otlp}`,
			},
		});
		const ask = (path: string, q: Parameters<typeof call>[2] = {}) =>
			call(service.url, path, { key: SECRETS.apiKey, ...q });
		const done = async (path: string, body: unknown, method = "POST") => {
			const answer = await ask(path, { method, body });
			expect(answer.status, answer.text).toBeLessThan(300);
			return answer.json;
		};
		/** Those that the service makes. */
		const made: string[] = [];

		// Keys, sessions, links, tokens.
		const key = await done("/v1/keys", { name: "k", scopes: ["write"] });
		const rotated = await done(`/v1/keys/${key.id}/rotate`, {});
		const reader = await done("/v1/keys", { name: "r", scopes: ["read"] });
		const link = await done("/v1/console-link", {});
		const page = browser(service);
		await page.signIn(rotated.key);
		await page.send("/v1/endpoints");
		const { json: worker } = await ask(`/v1/endpoints/ep/worker-env?url=${service.url}`, { method: "POST" });
		const token: string = worker.env.RUNPOD_AI_API_KEY;
		made.push(
			key.key,
			rotated.key,
			reader.key,
			link.path.split("/").at(-1),
			page.cookie!.split("=")[1]!,
			page.pageToken!,
		);
		made.push(token);

		// Stored secrets, and their failures.
		await done("/v2/account/secrets", { name: "stored", value: SECRETS.stored });
		await done("/v1/registries/registry.example.com", { username: "u", password: SECRETS.login }, "PUT");
		await done("/v2/registries", { name: "other", username: "u", password: SECRETS.otherLogin });
		await done("/v2/templates", { name: "t", image: "i", env: { TOKEN: SECRETS.template } });
		await ask("/v2/account/secrets", { body: { name: "stored", value: SECRETS.stored } });
		await ask("/v2/account/secrets", { body: { name: "bad name", value: SECRETS.stored } });
		await ask("/v1/endpoints/ep", { method: "PATCH", body: { env: { TOKEN: SECRETS.env }, workersMax: -1 } });
		await done("/v1/endpoints/made", { launcher: { type: "external" }, env: { TOKEN: SECRETS.env } }, "PUT");
		await done("/v1/endpoints/made", { launcher: { type: "external" }, env: { TOKEN: SECRETS.body } }, "PUT");
		const around = { cwd: place.folder.path, env: { SLUICE_URL: service.url, SLUICE_API_KEY: SECRETS.apiKey } };
		const input = `${SECRETS.stored}\n`;
		expect((await sluice(test, ["secrets", "set", "by_cli"], { ...around, input })).code).toBe(0);

		// Jobs with s3Config, a webhook whose first attempt fails and one with user and password; a worker that prints its
		// environment and crashes.
		const hook = new URL(`/${SECRETS.hookPath}?token=${SECRETS.hookQuery}`, receiver.url);
		const s3Config = {
			accessId: "a",
			accessSecret: SECRETS.s3,
			bucketName: "b",
			endpointUrl: "https://s3.example.com",
		};
		const { id } = await done("/v2/ep/run", { input: { n: 1 }, webhook: hook.href, s3Config });
		const hand = handWorkerOf(service.url, token, worker.env.RUNPOD_POD_ID);
		expect((await hand("job-take")).json.s3Config).toEqual(s3Config);
		await hand("job-done", id, { output: 1 });
		hook.username = "u";
		hook.password = SECRETS.hookPassword;
		const withUser = await done("/v2/ep/run", { input: {}, webhook: hook.href });
		await done(`/v2/ep/cancel/${withUser.id}`, {});
		await done("/v2/crash/run", { input: {} });
		await until("a worker has crashed", async () => {
			const { ended } = (await ask("/v1/endpoints/crash/workers?ended=true")).json;
			return ended.length > 0 && ended[0].lastOutput !== "";
		});

		// Secrets where they do not belong.
		const wrong = { "x-api-key": SECRETS.header, cookie: `session=${SECRETS.header}`, "x-request-id": rotated.key };
		await call(service.url, "/v2/ep/run", { key: null, headers: wrong, body: { input: {} } });
		await call(service.url, `/v2/ep/health?api_key=${SECRETS.query}`, { key: SECRETS.header });
		await call(service.url, `/v2/${rotated.key}/status/${rotated.key}`, { key: SECRETS.header });
		await ask("/v2/ep/run", { text: `{"input": {}, "webhook": "${SECRETS.body}`, method: "POST" });
		await ask("/v2/ep/run", { body: { input: SECRETS.body, webhook: `not an address ${SECRETS.body}` } });
		await call(service.url, "/console/session", { key: null, body: { key: SECRETS.header } });
		await call(service.url, `/worker/ep/job-done/${worker.env.RUNPOD_POD_ID}/x`, { key: SECRETS.header, body: {} });
		const [first, second] = await receiver.arrived(2);
		await until("the failed attempt is in the log", () => /the webhook of job/.test(service.stderr()));

		// What others get.
		const sent: Record<string, string> = {};
		for (const path of [
			...["/metrics", "/v1/audit?limit=100", "/v1/logs?tail=1000", "/v1/endpoints", "/v1/endpoints/ep", "/v1/keys"],
			...["/v1/endpoints/crash/workers?ended=true", "/v1/endpoints/made/releases", "/v1/sessions", "/v1/registries"],
			...["/v2/account/secrets", "/v2/registries", "/v1/servers", "/v1/metrics", "/v1/endpoints/ep/workers"],
		]) {
			const response = await fetch(service.url + path, { headers: { authorization: SECRETS.apiKey } });
			sent[path] = await response.text();
			expect(response.status, path).toBe(200);
		}
		for (const path of [`/v1/endpoints/ep/jobs/${id}`, "/v1/endpoints/ep/jobs", "/v1/webhooks", `/v2/ep/status/${id}`])
			sent[path] = (await call(service.url, path, { key: reader.key })).text;
		sent["webhook"] =
			JSON.stringify([first!.headers, second!.headers]) + first!.body.toString() + second!.body.toString();
		expect(sent["webhook"]).toContain(Buffer.from(`u:${SECRETS.hookPassword}`).toString("base64"));
		// Keys that may submit see path and query of an address, never its user and password.
		const seen = await Promise.all(
			["/v1/webhooks", `/v1/endpoints/ep/jobs/${withUser.id}`].map(async (path) => (await ask(path)).text),
		);
		for (const text of seen) {
			expect(text).toContain(SECRETS.hookPath);
			expect(text).not.toContain(SECRETS.hookPassword);
		}
		const logs = await sluice(test, ["logs", "--service", "--tail", "1000"], around);
		expect(logs).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("ep: the webhook of job") });
		sent["sluice logs"] = logs.stdout;
		for (const args of [[], ["ep", "w", "--service"], ["--service", "--whole"]])
			expect(await sluice(test, ["logs", ...args], around)).toMatchObject({
				code: 2,
				stderr: expect.stringMatching(
					/^Name an ENDPOINT, or pass --service|^--whole, --timestamps and WORKER cannot be used with --service/,
				),
			});
		expect(await service.end("SIGTERM")).toBe(0);
		sent["stdout"] = service.stdout();
		sent["stderr"] = service.stderr();
		await Promise.all([receiver.end(), collector.end()]);
		sent["OTLP"] = Buffer.concat(collector.received.map(({ body }) => body)).toString("latin1");
		// Addresses of webhooks are stored as they are; worker logs are not changed.
		const files = readdirSync(place.folder.path).filter((name) => /\.db|\.key|ballast/.test(name));
		const stored = files.map((name) => readFileSync(join(place.folder.path, name), "latin1")).join("");
		expect(stored).toContain(SECRETS.hookPath);

		// It was all there to be found.
		expect(sent["stderr"]).toMatch(/job\.queued/);
		expect(sent["stderr"]).toMatch(/request\.served|\/v2\/:endpoint\/run 200/);
		expect(sent["stderr"]).toMatch(/RUNPOD_AI_API_KEY=\[token\]/);
		expect(sent["stderr"]).toContain("TOKEN=");
		expect(sent["/v1/logs?tail=1000"]).toContain("request");
		expect(spansIn(collector.received).map(({ name }) => name)).toEqual(
			expect.arrayContaining(["POST /v2/:endpoint/run", "process ep", "deliver ep", "start crash"]),
		);
		expect(sent["/v1/endpoints/crash/workers?ended=true"]).toContain("TOKEN=[TOKEN]");
		expect(collector.received[0]!.headers.authorization).toContain(SECRETS.otlp);

		const all = { ...SECRETS, ...Object.fromEntries(made.map((value, index) => [`made ${index}`, value])) };
		// A webhook has the address that it was sent to, as RunPod's do.
		const own = (name: string, where: string) => where === "webhook" && ["hookPath", "hookQuery"].includes(name);
		const found = Object.entries(sent).flatMap(([where, text]) =>
			Object.entries(all).flatMap(([name, value]) =>
				text.includes(value) && !own(name, where) ? [`${name} in ${where}`] : [],
			),
		);
		expect(found).toEqual([]);
		const readable = Object.entries(all).filter(([name, value]) => !name.startsWith("hook") && stored.includes(value));
		expect(readable).toEqual([]);
	},
);

/** Calls of one worker with its token. */
function handWorkerOf(url: string, token: string, id: string) {
	return (operation: string, job?: string, body?: object) =>
		call(url, `/worker/ep/${operation}/${id}${job === undefined ? "" : `/${job}`}?job_in_progress=0&isStream=false`, {
			key: token,
			...(body === undefined ? {} : { body }),
		});
}

it("D34: the password in the address of a store that cannot be reached is in no output", async (test) => {
	const password = planted("store");
	const { code, stdout, stderr } = await sluice(test, ["serve", "--port", "0"], {
		cwd: site(test).folder.path,
		env: {
			SLUICE_STORE: `postgres://user:${password}@127.0.0.1:1/db`,
			SLUICE_SECRET: SECRETS.serviceSecret,
			SLUICE_API_KEY: SECRETS.apiKey,
			SLUICE_LOG_LEVEL: "debug",
		},
	});
	expect(code).toBe(1);
	expect(stderr).toContain("could not start");
	for (const secret of [password, SECRETS.serviceSecret, SECRETS.apiKey]) expect(stdout + stderr).not.toContain(secret);
});
