/** `sluice doctor`: every finding with the way out (D36). */
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { launcherFindings, nodeFinding } from "../../src/cli/doctor/machine.ts";
import { KEY, folder } from "../support/service.ts";
import { sluice } from "./command.ts";
import { managed } from "./managed.ts";
import { run } from "./site.ts";
import { until } from "../support/until.ts";

interface Report {
	ok: boolean;
	findings: { check: string; level: string; message: string; lines?: string[]; fix?: string }[];
}

/** What it says about one thing. */
function about({ findings }: Report, check: string): Report["findings"] {
	return findings.filter((each) => each.check === check);
}

/** Listens on a free port; ends with the test. */
async function listening(
	{ onTestFinished }: TestContext,
	answer: (path: string) => { status: number; text?: string; headers?: Record<string, string> },
): Promise<number> {
	const server = createServer((req, res) => {
		const { status, text = "", headers = {} } = answer(req.url!);
		res.writeHead(status, headers).end(text);
	}).listen(0, "127.0.0.1");
	onTestFinished(() => void server.close());
	await once(server, "listening");
	return (server.address() as AddressInfo).port;
}

describe("sluice doctor", () => {
	it.concurrent("D36: nothing is wrong with a set-up that works, exit 0", async (test) => {
		const { stdoutOf, service, cwd } = await managed(test, (place) => ({
			words: place.launched(),
		}));
		writeFileSync(join(cwd, "sluice.yaml"), `publicUrl: ${service.url}\n`);
		const text = await stdoutOf("doctor");
		expect(text).toMatch(/^ok {7}node: Node \d+/);
		for (const part of [
			"ok       configuration: ",
			"ok       store: ",
			`ok       service: The service at ${service.url} is ready.`,
			"ok       key: ",
			"ok       endpoint words: ",
			`ok       publicUrl: ${service.url} reaches the service from here. Test it where workers run: curl `,
		])
			expect(text).toContain(part);
		expect(text).toMatch(/\nNo problems found\.\n$/);
		const json = JSON.parse(await stdoutOf("doctor", "--json")) as Report;
		expect(json.ok).toBe(true);
		expect(about(json, "key")).toEqual([{ check: "key", level: "ok", message: "The key in SLUICE_API_KEY is valid." }]);
	});

	it.concurrent("D36: programs that it runs get no secrets of the service", async (test) => {
		const place = folder();
		test.onTestFinished(() => place.remove());
		const file = (name: string, text: string): void => writeFileSync(join(place.path, name), text, { mode: 0o755 });
		file("plugin", `#!/bin/sh\nenv > ${join(place.path, "seen")}\nexit 1\n`);
		file(
			"kubeconfig",
			JSON.stringify({
				"current-context": "c",
				contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
				clusters: [{ name: "k", cluster: { server: "https://127.0.0.1:1" } }],
				users: [{ name: "u", user: { exec: { command: "./plugin" } } }],
			}),
		);
		file("sluice.yaml", "endpoints: { ep: { launcher: { type: kubernetes, image: a/b } } }");
		const secrets = { SLUICE_API_KEY: KEY, SLUICE_SECRET: "a secret of the service", PGPASSWORD: "another one" };
		const env = { ...secrets, SLUICE_URL: "http://127.0.0.1:1", KUBECONFIG: join(place.path, "kubeconfig") };
		await sluice(test, ["doctor"], { cwd: place.path, env });
		const seen = readFileSync(join(place.path, "seen"), "utf8");
		expect([...Object.entries(secrets).flat(), "KUBECONFIG="].filter((each) => seen.includes(each))).toEqual([
			"KUBECONFIG=",
		]);
	});

	it.concurrent("D36: without a service it says so, and checks configuration, store and port, exit 1", async (test) => {
		const place = folder();
		test.onTestFinished(() => place.remove());
		const around = {
			cwd: place.path,
			env: { SLUICE_URL: "http://127.0.0.1:1", SLUICE_API_KEY: KEY },
		};
		const port = await listening(test, () => ({ status: 200 }));
		const ask = async (env: Record<string, string>, ...args: string[]): Promise<Report> => {
			const { code, stdout, stderr } = await sluice(test, ["doctor", "--json", ...args], {
				...around,
				env: { ...around.env, ...env },
			});
			expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
			return JSON.parse(stdout) as Report;
		};
		const alone = await ask({ SLUICE_PORT: String(port) });
		// A service that was never started is not missed yet.
		expect(about(alone, "service")).toEqual([
			{
				check: "service",
				level: "warning",
				message: expect.stringMatching(/^No service answers at http:\/\/127\.0\.0\.1:1 \(/),
				fix: expect.stringContaining("sluice serve"),
			},
		]);
		expect(about(alone, "port")).toEqual([
			expect.objectContaining({
				level: "problem",
				message: `Port ${port} on 127.0.0.1 is in use by another program.`,
			}),
		]);
		expect(about(alone, "store")).toEqual([expect.objectContaining({ level: "ok" })]);

		mkdirSync(join(place.path, "data"), { mode: 0o700 });
		writeFileSync(join(place.path, "data/sluice.db"), "");
		expect(about(await ask({}), "service")).toEqual([expect.objectContaining({ level: "problem" })]);

		writeFileSync(
			join(place.path, "elsewhere.yaml"),
			"endpoints:\n  words: { launcher: { type: process, command: [none] } }\n",
		);
		const url = "http://sluice.invalid";
		const elsewhere = await ask(
			{ SLUICE_URL: url, SLUICE_PORT: String(port) },
			"--config",
			"elsewhere.yaml",
			"--store",
			"sqlite:/proc/none/sluice.db",
		);
		expect(elsewhere.findings.filter(({ level }) => level !== "ok").map(({ check }) => check)).toEqual(["service"]);
		expect(about(elsewhere, "configuration")[1]?.message).toContain(`The service is at ${url}:`);

		writeFileSync(join(place.path, "file"), "");
		const unwritable = await ask({}, "--store", "sqlite:./file/sluice.db");
		expect(about(unwritable, "store")).toEqual([
			expect.objectContaining({
				level: "problem",
				message: expect.stringMatching(/cannot be written/),
				fix: expect.stringContaining("--store"),
			}),
		]);

		writeFileSync(
			join(place.path, "sluice.yaml"),
			"endpoints:\n  words: { workersMin: 5, workersMax: 2 }\ncolour: blue\n",
		);
		const wrong = await ask({});
		expect(about(wrong, "configuration").map(({ level, message }) => [level, message.replace(/^\S+: /, "")])).toEqual([
			["problem", expect.stringContaining("colour is unknown")],
			["problem", "endpoints.words.workersMin must not be over workersMax (2)."],
		]);
		const { stdout } = await sluice(test, ["doctor"], around);
		expect(stdout).toMatch(/^PROBLEM {2}configuration: .*colour.*\n {9}-> Correct it/m);
		expect(stdout).toMatch(/Found 3 problems\.\n$/);
	});

	it.concurrent("D36: names a wrong key, a missing one, another program, and clocks that differ", async (test) => {
		const { service, cwd } = await managed(test);
		const ask = async (env: Record<string, string | undefined>): Promise<Report> =>
			JSON.parse(
				(
					await sluice(test, ["doctor", "--json"], {
						cwd,
						env: { SLUICE_URL: service.url, SLUICE_API_KEY: KEY, ...env },
					})
				).stdout,
			) as Report;
		expect(about(await ask({ SLUICE_API_KEY: "wrong-key-entirely" }), "key")).toEqual([
			expect.objectContaining({
				level: "problem",
				fix: expect.stringContaining("sluice keys create"),
			}),
		]);
		expect(about(await ask({ SLUICE_API_KEY: undefined }), "key")).toEqual([
			expect.objectContaining({
				level: "problem",
				message: "There is no API key to check the service with.",
			}),
		]);
		const other = await listening(test, () => ({ status: 404, text: "<html>" }));
		expect(about(await ask({ SLUICE_URL: `http://127.0.0.1:${other}` }), "service")).toEqual([
			expect.objectContaining({
				level: "problem",
				message: expect.stringContaining("is not Sluice (HTTP 404)"),
			}),
		]);
		const late = await listening(test, (path) => ({
			status: 200,
			text: path === "/v1/endpoints" ? '{"endpoints": []}' : "{}",
			headers: { date: "Thu, 01 Jan 2026 00:00:00 GMT" },
		}));
		expect(about(await ask({ SLUICE_URL: `http://127.0.0.1:${late}` }), "clock")).toEqual([
			expect.objectContaining({
				level: "warning",
				message: expect.stringMatching(/differ by \d+ s/),
			}),
		]);
		writeFileSync(join(cwd, "sluice.yaml"), "publicUrl: http://127.0.0.1:1\n");
		expect(about(await ask({}), "publicUrl")).toEqual([
			expect.objectContaining({
				level: "problem",
				message: expect.stringContaining("does not reach the service from here"),
				fix: expect.stringContaining("curl -sS -m 5 http://127.0.0.1:1/healthz"),
			}),
		]);
	});

	it.concurrent("D36, D29: says why jobs wait and what to do, and the last exit of a crash loop", async (test) => {
		const { ask, service } = await managed(test, () => ({
			attached: { launcher: { type: "external" } },
			lonely: { launcher: { type: "external" } },
			closed: { workersMax: 0, launcher: { type: "process", command: ["node"] } },
			crashing: {
				launcher: {
					type: "process",
					command: [process.execPath, "-e", "console.error('no weights'); process.exit(7)"],
				},
			},
		}));
		for (const endpoint of ["attached", "closed", "crashing"]) await run(service, endpoint, {});
		const stdoutOf = await until("the crash to be known", async () => {
			const { code, stdout } = await ask("doctor", "--json");
			expect(code).toBe(1);
			const found = JSON.parse(stdout) as Report;
			return about(found, "endpoint crashing").some(({ lines }) => lines !== undefined) && found;
		});
		expect(about(stdoutOf, "endpoint attached")).toEqual([
			expect.objectContaining({
				level: "problem",
				message: "1 job waits: No worker is attached.",
				fix: "Start a worker with the variables of: sluice worker-env attached",
			}),
		]);
		expect(about(stdoutOf, "endpoint closed")).toEqual([
			expect.objectContaining({
				level: "problem",
				message: "1 job waits: workersMax is 0.",
				fix: "sluice endpoints update closed --set workersMax=3",
			}),
		]);
		expect(about(stdoutOf, "endpoint crashing")).toEqual([
			expect.objectContaining({
				level: "problem",
				message: expect.stringMatching(/^1 job waits: .*exit code 7/),
				lines: ["no weights"],
				fix: expect.stringContaining("sluice workers logs crashing"),
			}),
		]);
		const text = await ask("doctor");
		expect(text.stdout).toMatch(/^PROBLEM {2}endpoint crashing: .*\n +\| no weights\n +-> Read the whole log/m);
		const { stdout: listed } = await ask("endpoints");
		expect(listed).toMatch(/^crashing +crashing +crashing +1 /m);
		expect(listed).toMatch(/^attached +attached +no workers +1 /m);
		expect(listed).toMatch(/^lonely +lonely +active +0 /m);
		expect(about(stdoutOf, "endpoint lonely")).toEqual([
			expect.objectContaining({
				level: "warning",
				message: "No worker is attached.",
			}),
		]);
	});

	it.concurrent("D36, D29: a crash loop is a problem also while the next worker starts", async (test) => {
		// The first worker ends, the second one starts for as long as the test takes.
		const once = "if (fs.existsSync('tried')) setInterval(() => {}, 1e3); else { fs.writeFileSync('tried', ''); ";
		const command = [process.execPath, "-e", `${once} console.error('no weights'); process.exit(7); }`];
		const { ask, service } = await managed(test, ({ folder: { path: cwd } }) => ({
			crashing: { launcher: { type: "process", command, cwd } },
		}));
		await run(service, "crashing", {});
		await until("the second start", () => service.stderr().match(/worker \S+ started/g)?.length === 2);
		const { code, stdout } = await ask("doctor");
		expect(stdout).toMatch(/^PROBLEM {2}endpoint crashing: 1 job waits: .*exit code 7/m);
		expect(stdout).toMatch(/exit code 7.*\n +\| no weights\n +-> Read the whole log: sluice workers logs crashing\./);
		expect(code).toBe(1);
	});

	it.concurrent("D36: asks the Docker daemon where an endpoint uses it", async (test) => {
		const endpoints = [{ id: "words", launcher: { type: "docker" } }];
		const port = await listening(test, (path) => ({ status: path === "/_ping" ? 200 : 404 }));
		expect(await launcherFindings(endpoints, { DOCKER_HOST: `tcp://127.0.0.1:${port}` })).toEqual([
			expect.objectContaining({ check: "docker", level: "ok" }),
		]);
		expect(await launcherFindings(endpoints, { DOCKER_HOST: "unix:///nowhere/docker.sock" })).toEqual([
			expect.objectContaining({
				check: "docker",
				level: "problem",
				message: expect.stringContaining("'words' cannot start workers"),
			}),
		]);
	});

	it("D36: an old Node is a problem", () => {
		expect(nodeFinding("22.11.0")).toMatchObject({
			level: "problem",
			fix: "Install Node 24 or newer.",
		});
		expect(nodeFinding("24.0.0")).toMatchObject({ level: "ok" });
	});
});
