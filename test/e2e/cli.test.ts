/**
 * `sluice serve` and the command line around it: what it prints, and how it ends (D30, D34, D36).
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { call, folder } from "../support/service.ts";
import { sluice, start } from "./command.ts";
import { site } from "./site.ts";
import { until } from "../support/until.ts";

/** An empty folder for the time of a test. */
function room(test: TestContext): { cwd: string } {
	const place = folder();
	test.onTestFinished(() => place.remove());
	return { cwd: place.path };
}

const ADDRESS = /http:\/\/127\.0\.0\.1:\d+/;
const FREE = ["serve", "--port", "0"];

describe("sluice serve", () => {
	it.concurrent("D34, D30: says where it listens, shows the first key once, and accepts it later", async (test) => {
		const { cwd } = room(test);
		writeFileSync(join(cwd, "sluice.yaml"), "endpoints:\n  words:\n    launcher: { type: external }\n");
		const first = start(test, FREE, { cwd });
		const url = await until("the address", () => ADDRESS.exec(first.stdout())?.[0]);
		const key = await until("the key", () => /API key, shown only this once: (\S+)/.exec(first.stdout())?.[1]);
		expect((await call(url, "/v2/words/health", { key })).status).toBe(200);
		expect((await call(url, "/v2/words/health", { key: `${key}x` })).status).toBe(401);
		expect(first.stderr()).not.toContain(key);
		const hint = await until("the line to try", () => /^ {2}(curl .*)$/m.exec(first.stdout())?.[1]);
		expect(JSON.parse(execFileSync("sh", ["-c", hint], { encoding: "utf8" }))).toHaveProperty("jobs.inQueue", 0);
		first.end();
		expect((await first.ended).code).toBe(0);

		const second = start(test, FREE, { cwd });
		const again = await until("the address", () => ADDRESS.exec(second.stdout())?.[0]);
		expect((await call(again, "/v2/words/health", { key })).status).toBe(200);
		second.end();
		const { code, stdout } = await second.ended;
		expect(code).toBe(0);
		expect(stdout).not.toContain(key);
		expect(stdout).not.toContain("shown only this once");
	});

	it.concurrent("D30: with SLUICE_API_KEY no key is made and nothing of it is printed", async (test) => {
		const { cwd } = room(test);
		const service = start(test, FREE, {
			cwd,
			env: { SLUICE_API_KEY: "secret-of-the-operator-of-it" },
		});
		const url = await until("the address", () => ADDRESS.exec(service.stdout())?.[0]);
		expect((await call(url, "/v1/endpoints", { key: "secret-of-the-operator-of-it" })).status).toBe(200);
		service.end();
		const { stdout, stderr } = await service.ended;
		expect(stdout + stderr).not.toMatch(/secret-of-the-operator-of-it|shown only this once/);
	});

	it.concurrent("D34: lists every problem of a bad configuration with field and bound, and exits 2", async (test) => {
		const { cwd } = room(test);
		writeFileSync(
			join(cwd, "sluice.yaml"),
			JSON.stringify({
				colour: "blue",
				endpoints: {
					"bad id": {},
					words: {
						workersMin: 5,
						workersMax: 2,
						idleTimeout: 0,
						leaseMs: 10,
						launcher: { type: "nomad" },
					},
				},
			}),
		);
		const { code, stdout, stderr } = await sluice(test, ["serve", "--port", "70000", "--store", "mysql:x"], {
			cwd,
			env: { SLUICE_API_KEY: "short" },
		});
		expect(code).toBe(2);
		expect(stdout).toBe("");
		for (const part of [
			"colour is unknown",
			"endpoints.bad id",
			"words.workersMin must not be over workersMax (2)",
			"words.idleTimeout must be a whole number of seconds from 1 to 3600",
			"words.leaseMs must be a whole number of ms from 2000 to 600000",
			"words.launcher.type",
			"--port must be a whole number from 0 to 65535",
			"--store must be sqlite:",
			"SLUICE_API_KEY must have at least 24",
		]) {
			expect(stderr).toContain(part);
		}
		expect(stderr.split("\n").filter((line) => line.startsWith("- "))).toHaveLength(9);
	});

	it.concurrent("says in a sentence that the file is missing or is no YAML, and exits 2", async (test) => {
		const { cwd } = room(test);
		writeFileSync(join(cwd, "broken.yaml"), "endpoints: [");
		expect(await sluice(test, [...FREE, "--config", "absent.yaml"], { cwd })).toMatchObject({
			code: 2,
			stderr: expect.stringMatching(/cannot read the file .*absent\.yaml/),
		});
		expect(await sluice(test, [...FREE, "--config", "broken.yaml"], { cwd })).toMatchObject({
			code: 2,
			stderr: expect.stringContaining("is not valid YAML"),
		});
	});

	it.concurrent("says in a sentence that the port is in use, and exits 1", async (test) => {
		const { cwd } = room(test);
		const other = createServer().listen(0, "127.0.0.1");
		test.onTestFinished(() => void other.close());
		const { port } = await until("a port", () => other.address() as AddressInfo);
		const { code, stderr, stdout } = await sluice(test, ["serve", "--port", String(port)], { cwd });
		expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
		expect(stderr).toBe(
			`The service could not start: port ${port} on 127.0.0.1 is in use. Stop the program that uses ` +
				"it, such as another sluice, or choose another port with --port; 0 is a free one.\n",
		);
	});

	it.concurrent("refuses a second service on the same store, and leaves the first alone", async (test) => {
		const place = site(test);
		const service = await place.serve({ endpoints: { words: { launcher: { type: "external" } } } });
		const { code, stderr } = await sluice(
			test,
			[...FREE, "--store", `sqlite:${join(place.folder.path, "sluice.db")}`],
			{ cwd: place.folder.path },
		);
		expect(code).toBe(1);
		expect(stderr).toMatch(/^The service could not start: .*sluice\.db is in use by another process\. .*\n$/);
		expect((await call(service.url, "/readyz", { key: null })).status).toBe(200);
	});
});

describe("sluice", () => {
	it.concurrent("explains itself with --help, and each command too, exit 0", async (test) => {
		const around = room(test);
		const all = await sluice(test, ["--help"], around);
		expect(all).toMatchObject({ code: 0, stderr: "" });
		for (const command of ["serve", "worker-env"]) {
			expect(all.stdout).toContain(`  ${command} `);
			expect(await sluice(test, [command, "--help"], around)).toMatchObject({
				code: 0,
				stderr: "",
				stdout: expect.stringMatching(new RegExp(`^sluice ${command} .*--\\w+`, "s")),
			});
		}
	});

	it.concurrent("names an unknown command or flag with what there is, exit 2", async (test) => {
		const around = room(test);
		expect(await sluice(test, ["frobnicate"], around)).toMatchObject({
			code: 2,
			stdout: "",
			stderr: "Unknown command 'frobnicate'.\nAll commands: sluice --help\n",
		});
		for (const [args, says] of [
			[["sevre"], "Unknown command 'sevre'. Did you mean 'serve'?\nAll commands: sluice --help\n"],
			[["jobs", "lits"], "Unknown command 'jobs lits'. Did you mean 'jobs list'?\nAll commands: sluice jobs --help\n"],
			[
				["jobs", "list", "--statuss", "x"],
				"Unknown option '--statuss'. Did you mean --status?\nAll options: sluice jobs list --help\n",
			],
		] as const)
			expect(await sluice(test, args, around)).toEqual({ code: 2, stdout: "", stderr: says });
		expect(await sluice(test, ["serve", "--frobnicate", "1"], around)).toMatchObject({
			code: 2,
			stdout: "",
			stderr: "Unknown option '--frobnicate'.\nAll options: sluice serve --help\n",
		});
		expect(await sluice(test, ["serve", "now"], around)).toMatchObject({
			code: 2,
			stderr: expect.stringContaining("Unexpected argument 'now'"),
		});
		expect(await sluice(test, [], around)).toMatchObject({ code: 2 });
	});
});
