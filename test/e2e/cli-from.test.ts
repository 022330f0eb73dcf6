/**
 * A RunPod repository: `sluice dev FOLDER [--test]` and `sluice endpoints create --from FOLDER`
 * (D36).
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { call } from "../support/service.ts";
import { sluice, start } from "./command.ts";
import { managed } from "./managed.ts";
import { site } from "./site.ts";
import { until } from "../support/until.ts";

const HUB = {
	title: "Greeter",
	description: "Greets.",
	type: "serverless",
	config: {
		runsOn: "GPU",
		gpuCount: 2,
		containerDiskInGb: 20,
		env: [
			{ key: "GREETING", value: "Hello" },
			{ key: "MARK", input: { name: "Mark", type: "string", default: "!" } },
			{ key: "TIMES", input: { name: "Times", type: "number", default: 3 } },
			{
				key: "LOUD",
				input: {
					name: "Loud",
					type: "boolean",
					default: false,
					trueValue: "yes",
					falseValue: "no",
				},
			},
			{ key: "HF_TOKEN", input: { name: "Token", type: "string" } },
		],
	},
};

const HANDLER = `import { setTimeout as sleep } from "node:timers/promises";
export default async ({ input }) => {
  if (input.fail) return { error: "asked to fail" };
  await sleep(input.ms ?? 0);
  const { GREETING, MARK, TIMES, LOUD, HF_TOKEN, MODE } = process.env;
  return [GREETING, input.name, MARK, TIMES, LOUD, HF_TOKEN ?? "none", MODE ?? "none"].join(" ");
};
`;

function repository(path: string, files: Record<string, unknown>): string {
	for (const [name, content] of Object.entries({ "src/handler.mjs": HANDLER, ...files })) {
		mkdirSync(dirname(join(path, name)), { recursive: true });
		writeFileSync(join(path, name), typeof content === "string" ? content : JSON.stringify(content));
	}
	return path;
}

describe("a RunPod repository", () => {
	it.concurrent("D36: --test runs its tests with its variables, prints a table, exits by outcome", async (test) => {
		const cwd = site(test).folder.path;
		const good = {
			name: "greets",
			input: { name: "Ann" },
			timeout: 10_000,
			expected_output: "Hello Ann ! 3 no none dry",
		};
		const config = { gpuTypeId: "NVIDIA", env: [{ key: "MODE", value: "dry" }] };
		repository(cwd, {
			".runpod/hub.json": HUB,
			".runpod/tests.json": { tests: [good, { input: { name: "Bo" } }], config },
		});
		const passed = await sluice(test, ["dev", ".", "--test"], { cwd });
		expect(passed.stdout).toMatch(
			/^RESULT +TEST +MS *\npassed +greets +\d+\npassed +test 2 +\d+\nAll 2 tests passed\.\n(?![^])/m,
		);
		expect(passed.code).toBe(0);

		const bad = [
			good,
			{ name: "other", input: { name: "Bo" }, expected_output: "Hello" },
			{ name: "fails", input: { fail: true } },
			{ name: "late", input: { ms: 300 }, timeout: 100 },
		];
		repository(cwd, { ".runpod/tests.json": { tests: bad, config } });
		const dev = start(test, ["dev", ".", "--port", "0"], { cwd });
		const greeting = await until(
			"the greeting",
			() => /^Sluice dev [^]*SLUICE_API_KEY=[^]*\n\n/.exec(dev.stdout())?.[0],
		);
		for (const line of [
			"  From .runpod/hub.json: GREETING, MARK, TIMES, LOUD.\n",
			"  Run its tests: sluice dev . --test\n",
		])
			expect(greeting).toContain(line);

		const failed = await sluice(test, ["dev", ".", "--test"], { cwd });
		expect(failed.code).toBe(1);
		expect(failed.stdout).toMatch(/^FAILED +other +\d+ +expected "Hello", got "Hello Bo .*"$/m);
		expect(failed.stdout).toMatch(/^FAILED +fails +\d+ +FAILED: .*asked to fail/m);
		expect(failed.stdout).toMatch(/^FAILED +late +\d+ +took longer than its timeout of 100 ms$/m);
		expect(failed.stdout).toContain("3 of 4 tests failed.");
	});

	it.concurrent("D36: --test with a handler that does not start is exit 1; bad files are named", async (test) => {
		const cwd = site(test).folder.path;
		repository(cwd, { "src/handler.mjs": "throw new Error('no weights');\n" });
		expect(await sluice(test, ["dev", ".", "--test"], { cwd })).toMatchObject({
			code: 2,
			stderr: expect.stringMatching(/^\S*\.runpod\/tests\.json does not exist\. /),
		});
		repository(cwd, {
			"src/handler.mjs": "throw new Error('no weights');\n",
			".runpod/tests.json": { tests: [{ input: {} }] },
		});
		const { code, stdout, stderr } = await sluice(test, ["dev", ".", "--test"], { cwd });
		expect({ code, stderr }).toEqual({
			code: 1,
			stderr: "The worker exited with code 1 before it asked for a job; its last lines are above.\n",
		});
		expect(stdout).toContain("no weights");
		repository(cwd, { ".runpod/tests.json": { tests: [{ input: 5 }] } });
		expect(await sluice(test, ["dev", ".", "--test"], { cwd })).toMatchObject({
			code: 2,
			stderr: expect.stringContaining("tests[0] must have an object as its input."),
		});
		repository(cwd, { ".runpod/hub.json": "{" });
		expect(await sluice(test, ["dev", "."], { cwd })).toMatchObject({
			code: 2,
			stderr: expect.stringMatching(/hub\.json is not JSON/),
		});
	});

	it.concurrent("D36: dev starts what the Dockerfile says, with the variables of a preset", async (test) => {
		const cwd = site(test).folder.path;
		const key = { key: "NAME", input: { type: "string", required: true } };
		repository(cwd, {
			Dockerfile: 'FROM node\nCOPY lib /app\nWORKDIR /app\nENTRYPOINT ["node"]\nCMD ["run.mjs"]\n',
			"lib/run.mjs": "export default async () => process.env.NAME;\n",
			".runpod/hub.json": { config: { env: [key], presets: [{ name: "Ann's", defaults: { NAME: "Ann" } }] } },
			".runpod/tests.json": { tests: [{ input: {}, expected_output: "Ann" }], config: { gpuTypeId: "L4" } },
		});
		const passed = await sluice(test, ["dev", ".", "--test", "--preset", "Ann's"], { cwd });
		expect(passed).toMatchObject({ code: 0, stderr: "Without effect here: gpuTypeId L4.\n" });
		expect(await sluice(test, ["dev", ".", "--preset", "Bo"], { cwd })).toMatchObject({
			code: 2,
			stderr: "There is no preset 'Bo'. The presets of hub.json: Ann's.\n",
		});
		const dev = start(test, ["dev", ".", "--port", "0"], { cwd });
		await until("the note", () => dev.stdout().includes("Required, without a default: NAME. Set it in .env.\n"));
	});

	it.concurrent("D36: endpoints create --from takes handler, name and env, and says what it omits", async (test) => {
		const { ask, service, cwd } = await managed(test);
		// With its worker.
		test.onTestFinished(async () => void (await service.end()));
		repository(cwd, {
			".runpod/hub.json": HUB,
			"worker.js": `require("node:http");\n`,
		});
		const { code, stdout, stderr } = await ask(
			"endpoints",
			"create",
			"greet",
			"--from",
			".",
			"--set",
			"workersMax=1",
			"--set",
			"gpusPerWorker=0",
			"--set",
			"env.MARK=?",
		);
		expect({ code, stderr }).toMatchObject({ code: 0 });
		expect(stdout).toContain("Created endpoint 'greet'.");
		expect(stderr).toMatch(/^From \.runpod\/hub\.json: GREETING, MARK, TIMES, LOUD\.$/m);
		expect(stderr).toMatch(/^No default; .*: HF_TOKEN\.$/m);
		expect(stderr).toMatch(/^Without effect here: containerDiskInGb 20\.$/m);
		expect(stderr).toMatch(/^Each worker gets 2 GPUs of those configured/m);
		const { json } = await call(service.url, "/v1/endpoints/greet");
		expect(json).toMatchObject({
			name: "Greeter",
			workersMax: 1,
			gpusPerWorker: 0,
			launcher: { type: "process", cwd },
		});
		expect(json.launcher.command.at(-1)).toBe(join(cwd, "src/handler.mjs"));
		const submit = ["jobs", "submit", "greet", "--input", '{"name": "Ann"}', "--wait"];
		expect((await ask(...submit)).stdout).toMatch(/^"Hello Ann \? 3 no none /);
		expect(json.env.toSorted()).toEqual(["GREETING", "LOUD", "MARK", "TIMES"]);
		expect(await ask("endpoints", "create", "other", "--from", "absent")).toMatchObject({
			code: 2,
			stderr: expect.stringMatching(/^--from takes the folder of a repository/),
		});
	});
});
