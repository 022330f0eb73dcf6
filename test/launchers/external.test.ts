/** The launcher that launches nothing, and the table of launchers. */
import { tmpdir } from "node:os";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { systemClock as clock } from "../../src/kernel/system/clock.ts";
import { externalLauncher } from "../../src/kernel/launchers/external/index.ts";
import { isManaged, LAUNCHERS } from "../../src/kernel/launchers/index.ts";
import { call, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

describe("external launcher", () => {
	it("D25: refuses to start, with the way to attach workers", async () => {
		const spec = {
			workerId: "w",
			endpoint: "thumbnail",
			settings: { type: "external" },
			env: {},
			serviceId: "s",
			url: "http://127.0.0.1:9",
			gpus: [],
			gpuCount: 0,
			workersMax: 3,
			stopGraceMs: 5000,
		};
		await expect(externalLauncher().start(spec)).rejects.toThrow(
			"workers of this endpoint are started elsewhere: see `sluice worker-env thumbnail`",
		);
	});

	it("has nothing to adopt, list, stop, report or close", async () => {
		const launcher = externalLauncher();
		launcher.onExit(() => expect.unreachable());
		expect(await launcher.adopt("w", { pid: process.pid, startTime: 1 }, "s")).toBe(false);
		expect(await launcher.list()).toEqual([]);
		await launcher.stop("w", 0);
		await launcher.close();
	});
});

describe("table of launchers", () => {
	it("D25: makes each launcher under its name", async () => {
		expect(LAUNCHERS.map(({ type }) => type)).toEqual(["process", "docker", "kubernetes", "slurm", "external"]);
		for (const { type, create } of LAUNCHERS)
			expect((await create({ clock, logDir: tmpdir(), serviceEnv: {}, log() {} })).name).toBe(type);
	});

	it("D25: all but external start workers themselves", () => {
		expect(LAUNCHERS.filter(({ type }) => !isManaged(type)).map(({ type }) => type)).toEqual(["external"]);
	});

	it("D25: a service creates those that its endpoints use, and those of hosts of the configuration", async () => {
		const created: string[] = [];
		for (const each of LAUNCHERS) {
			const { type, create } = each;
			const spy = vi.spyOn(each, "create").mockImplementation((dependencies) => {
				created.push(type);
				return create(dependencies);
			});
			onTestFinished(() => spy.mockRestore());
		}
		const launcher = { type: "process", command: ["node", "-e", "0"] };
		const start = async (settings: Record<string, unknown>) => {
			created.length = 0;
			const service = await startService({ endpoints: { words: { launcher } }, settings });
			onTestFinished(() => service.end());
			return service;
		};
		await start({ hosts: { rig1: { docker: "tcp://127.0.0.1:9", insecure: true, workerUrl: "http://127.0.0.1:9" } } });
		expect(created).toEqual(["process", "docker"]);
		const service = await start({});
		expect(created).toEqual(["process"]);
		const batch = { launcher: { type: "slurm", command: ["true"], sharedDir: tmpdir() } };
		const { status } = await call(service.url, "/v1/endpoints/batch", { method: "PUT", body: batch });
		expect(status).toBe(200);
		await until("the launcher of the new endpoint is created", () => created.length === 2);
		expect(created).toEqual(["process", "slurm"]);
	});
});
