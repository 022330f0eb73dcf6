/** `sluice worker-env`: variables through which workers attach, in every format (D36, D26). */
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { parse } from "yaml";
import { describe, expect, it, type TestContext } from "vitest";
import { KEY, call } from "../support/service.ts";
import { sluice } from "./command.ts";
import { ended, run, site, type Site, WORKER } from "./site.ts";
import { until } from "../support/until.ts";

const NAMES = [
	"RUNPOD_WEBHOOK_GET_JOB",
	"RUNPOD_WEBHOOK_POST_OUTPUT",
	"RUNPOD_WEBHOOK_POST_STREAM",
	"RUNPOD_WEBHOOK_PING",
	"RUNPOD_AI_API_KEY",
	"RUNPOD_POD_ID",
	"RUNPOD_ENDPOINT_ID",
	"RUNPOD_PING_INTERVAL",
	"RUNPOD_SKIP_AUTO_SYSTEM_CHECKS",
];

interface Setting {
	place: Site;
	service: { url: string };
	/** Runs `sluice worker-env` against the service. */
	ask(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }>;
}

async function setting(test: TestContext): Promise<Setting> {
	const place = site(test);
	const service = await place.serve({ endpoints: { theirs: { launcher: { type: "external" } } } });
	const around = { cwd: place.folder.path, env: { SLUICE_URL: service.url, SLUICE_API_KEY: KEY } };
	return { place, service, ask: (...args) => sluice(test, ["worker-env", ...args], around) };
}

/** `NAME=value` lines as an environment. */
function variables(text: string): Record<string, string> {
	return Object.fromEntries(
		text
			.trimEnd()
			.split("\n")
			.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
	);
}

/** What is the same each time it is asked for: token and worker id, also in the addresses, are new. */
function lasting(env: Record<string, string>): Record<string, string> {
	const { RUNPOD_AI_API_KEY: token = "", RUNPOD_POD_ID: id = "" } = env;
	const blank = (value: string): string => value.replaceAll(id, "ID").replaceAll(token, "TOKEN");
	return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, blank(value)]));
}

function diaryOf(place: Site): { DIARY: string } {
	return { DIARY: join(place.folder.path, "diary") };
}

describe("sluice worker-env", () => {
	it.concurrent("D36: env, compose and --json say the same, and the lines attach a worker", async (test) => {
		const { place, service, ask } = await setting(test);
		const plain = await ask("theirs");
		expect(plain).toMatchObject({ code: 0, stderr: expect.stringContaining("sluice worker-env theirs --replicas") });
		const env = variables(plain.stdout);
		expect(Object.keys(env).sort()).toEqual([...NAMES].sort());
		expect(env["RUNPOD_WEBHOOK_GET_JOB"]).toMatch(
			new RegExp(`^${service.url}/worker/theirs/job-take/theirs-[0-9a-f]{12}[?]`),
		);
		const compose = await ask("theirs", "--format", "compose");
		const read = parse(compose.stdout) as Record<string, string>;
		const asCompose = Object.fromEntries(
			Object.entries(read).map(([name, value]) => [name, value.replaceAll("$$", "$")]),
		);
		expect(Object.values(read).join().replaceAll("$$", ""), "every $ is doubled").not.toContain("$");
		const json = JSON.parse((await ask("theirs", "--json")).stdout) as Record<string, string>;
		for (const other of [asCompose, json]) {
			expect(lasting(other)).toEqual(lasting(env));
			expect(other["RUNPOD_AI_API_KEY"]).not.toBe(env["RUNPOD_AI_API_KEY"]);
		}
		place.spawn(WORKER, { ...env, ...diaryOf(place) });
		const id = await run(service, "theirs", { n: 5 });
		expect(await ended(service, "theirs", id)).toMatchObject({
			status: "COMPLETED",
			output: { n: 5 },
			workerId: env["RUNPOD_POD_ID"],
		});
	});

	it.concurrent("D36: the shell format survives a shell: what sh made of it attaches a worker", async (test) => {
		const { place, service, ask } = await setting(test);
		const { code, stdout } = await ask("theirs", "--format", "shell");
		expect(code).toBe(0);
		const script = join(place.folder.path, "worker.sh");
		writeFileSync(script, `${stdout}exec "$@"\n`);
		place.spawn(["sh", script, ...WORKER], diaryOf(place));
		const id = await run(service, "theirs", { n: 6 });
		expect(await ended(service, "theirs", id)).toMatchObject({
			status: "COMPLETED",
			output: { n: 6 },
		});
	});

	it.concurrent("D36: --replicas: one token for many workers, each with an id of its own", async (test) => {
		const { place, service, ask } = await setting(test);
		const { code, stdout, stderr } = await ask("theirs", "--replicas");
		const env = variables(stdout);
		expect(code).toBe(0);
		expect(env).not.toHaveProperty("RUNPOD_POD_ID");
		expect(stderr).toContain("RUNPOD_POD_ID");
		expect((await ask("theirs", "--replicas", "--format", "shell")).stdout).toMatch(
			/^export RUNPOD_POD_ID="\$\(hostname\)"$/m,
		);
		for (const id of ["host-a", "host-b"]) place.spawn(WORKER, { ...env, ...diaryOf(place), RUNPOD_POD_ID: id });
		await until(
			"two ready workers",
			async () => (await call(service.url, "/v2/theirs/health")).json.workers.ready === 2,
		);
		const jobs = [await run(service, "theirs", { until: "both" }), await run(service, "theirs", { until: "both" })];
		await until(
			"both to run",
			() =>
				new Set(
					place
						.notes()
						.filter((each) => each.what === "run")
						.map((each) => each.worker),
				).size === 2,
		);
		place.allow("both");
		const workers = [];
		for (const id of jobs) workers.push((await ended(service, "theirs", id)).workerId);
		expect(new Set(workers)).toEqual(new Set(["host-a", "host-b"]));
	});

	it.concurrent("D26: a token is good for its own worker id only", async (test) => {
		const { service, ask } = await setting(test);
		const env = variables((await ask("theirs")).stdout);
		const ping = (worker: string) =>
			fetch(`${service.url}/worker/theirs/ping/${worker}`, {
				headers: { authorization: env["RUNPOD_AI_API_KEY"]! },
			});
		expect((await ping(env["RUNPOD_POD_ID"]!)).status).toBe(200);
		expect((await ping("another-worker")).status).toBe(401);
	});

	it.concurrent("says in a sentence what is wrong, and exits with 1 or 2", async (test) => {
		const { place, service, ask } = await setting(test);
		expect(await ask("absent")).toMatchObject({
			code: 1,
			stdout: "",
			stderr: "There is no endpoint 'absent'. 'sluice endpoints list' lists those that exist.\n",
		});
		expect(await ask()).toMatchObject({
			code: 2,
			stdout: "",
			stderr: expect.stringContaining("sluice worker-env ENDPOINT"),
		});
		expect(await ask("theirs", "--format", "toml")).toMatchObject({
			code: 2,
			stdout: "",
			stderr: "--format must be one of env, shell, compose, not 'toml'.\n",
		});
		const cwd = place.folder.path;
		for (const SLUICE_API_KEY of [undefined, ""])
			expect(
				await sluice(test, ["worker-env", "theirs"], {
					cwd,
					env: { SLUICE_URL: service.url, SLUICE_API_KEY },
				}),
			).toMatchObject({
				code: 2,
				stdout: "",
				stderr: expect.stringMatching(/^No API key: set SLUICE_API_KEY, pass --key, or .*\n$/),
			});
		expect(
			await sluice(test, ["worker-env", "theirs"], {
				cwd,
				env: { SLUICE_URL: service.url, SLUICE_API_KEY: "not-a-key" },
			}),
		).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("Invalid API key") });
		const other = createServer((_, res) => void res.end("<html>")).listen(0, "127.0.0.1");
		test.onTestFinished(() => void other.close());
		const { port } = await until("a port", () => other.address() as AddressInfo);
		const env = { SLUICE_URL: `http://127.0.0.1:${port}`, SLUICE_API_KEY: KEY };
		expect(await sluice(test, ["worker-env", "theirs"], { cwd, env })).toMatchObject({
			code: 1,
			stdout: "",
			stderr: expect.stringMatching(/^The server at \S+ is not Sluice \(HTTP 200\)\. .*SLUICE_URL.*\n$/),
		});
		await new Promise((resolve) => other.close(resolve));
		expect(await sluice(test, ["worker-env", "theirs"], { cwd, env })).toMatchObject({
			code: 1,
			stdout: "",
			stderr: expect.stringMatching(/^No service answers at \S+ \(.*ECONNREFUSED.*\)\. .*sluice serve.*\n$/),
		});
	});
});
