/**
 * A new launcher is one folder (`test/launchers/pretend/`) and one entry in
 * `src/modules/launchers.ts`, which the mock below adds.
 */
import { MODULES } from "../../src/modules/index.ts";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { launcherFields, launchersIn, settingsIn } from "../../console/src/pages/settings/settings-form.ts";
import { openapiOf } from "../../scripts/api-page/openapi.ts";
import { config as reference } from "../../scripts/gen/config.ts";
import { ROUTES } from "../../src/modules/tables.ts";
import { launcherFindings } from "../../src/cli/doctor/machine.ts";
import { loadConfig } from "../../src/kernel/config/config.ts";
import type { LauncherDefinition } from "../../src/kernel/launchers/definition.ts";
import type * as Registry from "../../src/modules/launchers.ts";
import { call, folder, KEY, startService, type TestService } from "../support/service.ts";
import type { PretendSettings } from "./pretend/index.ts";
import { calls, platform, startStray, state } from "./pretend/launcher.ts";

vi.mock("../../src/modules/launchers.ts", async (original) => {
	const registry = await original<typeof Registry>();
	const { PRETEND } = await import("./pretend/index.ts");
	(registry.LAUNCHERS as LauncherDefinition[]).push(PRETEND);
	return registry;
});

const launcher = { type: "pretend", partition: "gpu" };

function loaded(settings: object): ReturnType<typeof loadConfig> {
	return loadConfig({
		modules: MODULES,
		flags: {},
		env: { SLUICE_API_KEY: KEY },
		cwd: "/srv",
		readFile: () => JSON.stringify({ endpoints: { words: { launcher: settings } } }),
	});
}

describe("a new launcher", () => {
	it("D35: its settings are accepted and checked in sluice.yaml, with paths of that file", () => {
		expect(loaded(launcher)).toMatchObject({
			ok: true,
			config: { endpoints: [{ launcher: { ...launcher, note: "from /srv" } }] },
		});
		const faulty = loaded({ type: "pretend", partition: "x".repeat(21), size: 1 });
		expect(!faulty.ok && faulty.problems).toEqual([
			expect.stringMatching(/launcher\.partition must be text of at most 20 characters\.$/),
			expect.stringContaining("launcher.size "),
		]);
		const unknown = loaded({ type: "nomad" });
		expect(!unknown.ok && unknown.problems[0]).toMatch(
			/must be process, docker, kubernetes, .* pretend or external\.$/,
		);
	});

	it("D36: sluice doctor reports what it finds", async () => {
		expect(await launcherFindings([{ id: "words", launcher }], {})).toEqual([
			{ check: "endpoint words", level: "ok", message: "Partition gpu." },
		]);
	});

	it("the reference has its settings", () => {
		const text = reference.body();
		expect(text).toContain("### `pretend`\n\nWorkers are objects in the process of a test.");
		expect(text).toContain(
			"| `partition` (required) | text | at most 20 characters | Part of the platform that runs the workers. |",
		);
	});
});

describe("a service with a new launcher", () => {
	const place = folder();
	let service: TestService;
	const begin = async (settings: object): Promise<void> => {
		const endpoints = { words: { launcher: settings, idleTimeout: 3600 } };
		service = await startService({ endpoints, in: place });
	};
	const change = async (settings: object): Promise<void> => {
		const { status } = await call(service.url, "/v1/endpoints/words", {
			method: "PATCH",
			body: { launcher: settings },
		});
		expect(status).toBe(200);
	};
	/** Runs a job and returns what runs on the platform then. */
	const workers = async (): Promise<{ workerId: string; settings: PretendSettings }[]> => {
		const { json } = await call(service.url, "/v2/words/runsync", { body: { input: { n: 1 } } });
		expect(json).toMatchObject({ status: "COMPLETED", output: { ran: { n: 1 } } });
		return [...platform.values()].map(({ spec }) => spec);
	};

	beforeAll(() => begin(launcher));
	afterAll(async () => {
		await service.end();
		for (const { worker } of platform.values()) await worker?.kill();
		place.remove();
	});

	it("the console's form has it", async () => {
		const document = JSON.parse(JSON.stringify(openapiOf(ROUTES, "1"))) as Record<string, unknown>;
		const choice = launchersIn(settingsIn(document)).find(({ type }) => type === "pretend")!;
		expect(choice).toMatchObject({
			title: "A pretend platform",
			description: "Workers are objects in the process of a test.",
			managed: true,
		});
		const [partition] = launcherFields(choice, { partition: "cpu" });
		expect(partition).toMatchObject({
			path: ["launcher", "partition"],
			kind: "text",
			value: "cpu",
			required: true,
			setting: { title: "Partition" },
		});
	});

	it("D25, D28: its workers are started, kept or replaced when settings change, and stopped", async () => {
		const [first, ...others] = await workers();
		expect(others).toEqual([]);
		expect(first).toMatchObject({
			endpoint: "words",
			settings: launcher,
			url: service.url,
			gpus: [],
		});
		await change({ note: "changed" });
		expect(await workers(), "a note replaces no worker").toEqual([first]);
		const exited = service.next("worker.exited");
		await change({ partition: "cpu" });
		expect(await exited).toMatchObject({ worker: first!.workerId, code: 0 });
		const [second] = await workers();
		expect(second).toMatchObject({ settings: { partition: "cpu", note: "changed" } });
	});

	it("D34: workers that outlive the service are adopted; strays are removed", async () => {
		const [recorded] = await workers();
		const { spec } = [...platform.values()][0]!;
		state.reachable = false;
		await service.end();
		state.reachable = true;
		startStray({ ...spec, workerId: "words-stray" });
		startStray({ ...spec, workerId: "words-foreign", serviceId: "another" });
		expect(platform.size).toBe(3);
		calls.length = 0;
		await begin({ ...launcher, partition: "cpu" });
		// The service has another address now, so that an adopted worker is stopped.
		expect(calls).toEqual([`adopt ${recorded!.workerId}: true`, `stop ${recorded!.workerId}`, "removeStrays: 1"]);
		expect([...platform.values()].map((run) => run.spec.workerId)).toEqual(["words-foreign"]);
	});
});
