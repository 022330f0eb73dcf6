/** `sluice endpoints`: made, changed, paused and deleted from the command line (D36). */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { describe, expect, it } from "vitest";
import { withDurations } from "../../src/kernel/core/durations.ts";
import { ENDPOINT_SCHEMA } from "../../src/kernel/launchers/endpoint-settings.ts";
import { call } from "../support/service.ts";
import { managed } from "./managed.ts";
import { run } from "./site.ts";

describe("sluice endpoints", () => {
	it.concurrent("D36: an endpoint's whole life", async (test) => {
		const { ask, service, stdoutOf } = await managed(test);
		expect(await ask("endpoints")).toMatchObject({
			code: 0,
			stdout: expect.stringMatching(/^No endpoints yet.*sluice endpoints create/),
			stderr: "",
		});

		const made = await ask(
			"endpoints",
			"create",
			"words",
			"--set",
			"workersMax=7",
			"--set",
			"launcher.type=external",
			"--set",
			"env.VERSION=1.10",
			"--set",
			"env.A.B=x=y",
			"--set",
			"env.__proto__=z",
			"--set",
			"limits.run={per10s: 5, concurrent: off}",
			"--set",
			"name=12",
		);
		expect(made).toMatchObject({
			code: 0,
			stderr: "",
			stdout: expect.stringContaining("sluice worker-env words"),
		});
		const { json } = await call(service.url, "/v1/endpoints/words");
		expect(json).toMatchObject({
			name: "12",
			workersMax: 7,
			launcher: { type: "external" },
			limits: { run: { per10s: 5, concurrent: "off" } },
		});
		expect(json.env).toEqual(["VERSION", "A.B", "__proto__"]);
		expect(await ask("endpoints", "update", "words", "--set", "__proto__.x=1")).toMatchObject({
			code: 1,
			stderr: expect.stringContaining("__proto__ is unknown"),
		});

		const listed = (await stdoutOf("endpoints", "list")).split("\n");
		expect(listed[0]).toMatch(/^ID +NAME +STATE +QUEUED +RUNNING +WORKERS +LAUNCHER +REASON$/);
		expect(listed[1]).toMatch(/^words +12 +active +0 +0 +0 +external$/);
		expect(listed[1]!.indexOf("active")).toBe(listed[0]!.indexOf("STATE"));
		const printed = await stdoutOf("endpoints", "get", "words");
		expect(printed).toMatch(/^executionTimeoutMs: 10m$/m);
		expect(withDurations(ENDPOINT_SCHEMA, parse(printed))).toEqual(json);
		expect(JSON.parse(await stdoutOf("endpoints", "get", "words", "--json"))).toEqual(json);
		expect(JSON.parse(await stdoutOf("endpoints", "--json"))).toEqual({ endpoints: [json] });

		await stdoutOf(
			"endpoints",
			"update",
			"words",
			"--set",
			"idleTimeout=1m",
			"--unset",
			"workersMax",
			"--unset",
			"env.A.B",
			"--unset",
			"env.__proto__",
		);
		expect((await call(service.url, "/v1/endpoints/words")).json).toMatchObject({
			idleTimeout: 60,
			workersMax: 3,
			env: ["VERSION"],
			name: "12",
		});

		expect(await stdoutOf("endpoints", "pause", "words")).toMatch(/paused/);
		expect(await stdoutOf("endpoints")).toMatch(/^words +12 +paused/m);
		await stdoutOf("endpoints", "resume", "words");
		expect((await call(service.url, "/v1/endpoints/words")).json.paused).toBe(false);
		expect(await ask("endpoints", "webhook-secret", "words", "--overlap", "2d")).toMatchObject({
			code: 0,
			stdout: expect.stringMatching(/^whsec_\S{44}\n$/),
			stderr: expect.stringMatching(/^The former secret signs webhooks too until 20\d\d-.*\.\n$/),
		});
		expect(await stdoutOf("endpoints", "webhook-secret", "words", "--overlap", "0s")).toMatch(/^whsec_\S{44}\n$/);

		await run(service, "words", {});
		expect(await ask("endpoints", "delete", "words")).toMatchObject({
			code: 2,
			stdout: "",
			stderr: expect.stringMatching(/Delete endpoint 'words'.*--yes/),
		});
		expect((await call(service.url, "/v2/words/health")).status).toBe(200);
		expect(await stdoutOf("endpoints", "delete", "words", "--yes")).toMatch(
			/^Deleted endpoint 'words'; cancelled 1 queued and 0 running jobs\.$/m,
		);
		expect((await call(service.url, "/v2/words/health")).status).toBe(404);
		expect(await ask("endpoints", "get", "words")).toMatchObject({
			code: 1,
			stdout: "",
			stderr: "There is no endpoint 'words'. 'sluice endpoints list' lists those that exist.\n",
		});
	});

	it.concurrent("D36: settings come from a file too, and --set wins over it", async (test) => {
		const { ask, service, cwd } = await managed(test);
		writeFileSync(
			join(cwd, "words.yaml"),
			"workersMax: 4\nidleTimeout: 9\nlauncher: { type: external }\nlimits: off\n",
		);
		expect((await ask("endpoints", "create", "words", "--file", "words.yaml", "--set", "idleTimeout=30")).code).toBe(0);
		expect((await call(service.url, "/v1/endpoints/words")).json).toMatchObject({
			workersMax: 4,
			idleTimeout: 30,
			limits: "off",
		});
		writeFileSync(join(cwd, "list.yaml"), "- 1\n");
		writeFileSync(join(cwd, "broken.yaml"), "a: [\n");
		const cases: [string[], RegExp][] = [
			[["--file", "absent.yaml"], /Cannot read the file absent\.yaml/],
			[["--file", "list.yaml"], /must contain settings/],
			[["--file", "broken.yaml"], /broken\.yaml is not valid YAML/],
			[["--set", "workersMax"], /NAME=VALUE/],
			[["--set", "workersMax=["], /--set workersMax is not valid YAML/],
		];
		for (const [args, says] of cases)
			expect(await ask("endpoints", "create", "other", ...args)).toMatchObject({
				code: 2,
				stdout: "",
				stderr: expect.stringMatching(says),
			});
	});

	it.concurrent("D36, D2: every bad setting is reported, and the exit code is 1", async (test) => {
		const { ask } = await managed(test);
		const { code, stdout, stderr } = await ask(
			"endpoints",
			"create",
			"bad",
			"--set",
			"workersMin=5",
			"--set",
			"workersMax=2",
			"--set",
			"idleTimeout=0",
			"--set",
			"colour=blue",
		);
		expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
		for (const part of [
			"3 bad fields",
			"- workersMin must not be over workersMax (2).",
			"- idleTimeout must be a whole number",
			"- colour is unknown",
		])
			expect(stderr).toContain(part);
	});
});
