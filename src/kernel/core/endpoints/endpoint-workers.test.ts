/** Settings of an endpoint that say how its workers start and use GPUs. */
import { expect, it } from "vitest";
import { endpoint, fields } from "../../../../test/support/endpoint-settings.ts";
import { mergeSettings } from "./endpoint.ts";

it("D28: a warm-up has any input as it was given; without one there is none", () => {
	for (const input of [{ a: null, b: [1, { c: "10s" }] }, "text", 0, false, []])
		expect(endpoint({ warmup: { input } })).toMatchObject({ warmup: { input } });
	for (const warmup of [{}, { input: null }, null, undefined])
		expect(endpoint({ warmup })).not.toHaveProperty("warmup");
	const cleared = mergeSettings({ warmup: { input: { a: 1 } } }, { warmup: { input: null } });
	expect(endpoint(cleared as object)).not.toHaveProperty("warmup");
	for (const warmup of ["text", 7, true, []]) expect(fields({ warmup })).toEqual(["warmup"]);
	expect(fields({ warmup: { inputs: {} } })).toEqual(["warmup.inputs"]);
});

it("D27: a part of a GPU implies one, and is for launchers whose workers can share it", () => {
	const launcher = { type: "process", command: ["w"] };
	expect(endpoint({ launcher, gpuMemoryGb: 9.5 })).toMatchObject({ gpusPerWorker: 1, gpuMemoryGb: 9.5 });
	expect(endpoint({ launcher, gpuMemoryGb: 9.5, gpusPerWorker: 2 })).toMatchObject({ gpusPerWorker: 2 });
	expect(endpoint({ launcher, gpuMemoryGb: null })).not.toHaveProperty("gpuMemoryGb");
	for (const value of [0, 0.05, 10_001, "10"])
		expect(fields({ launcher, gpuMemoryGb: value })).toEqual(["gpuMemoryGb"]);
	const docker = { type: "docker", image: "a", hosts: "all" };
	expect(fields({ launcher: docker, gpuMemoryGb: 1 })).toEqual([]);
	expect(endpoint({ launcher, gpuMemoryGb: 1, gpuMemoryEnforce: true }).gpuMemoryEnforce).toBe(true);
	expect(fields({ launcher, gpuMemoryEnforce: true })).toEqual(["gpuMemoryEnforce"]);
	for (const other of [{ type: "external" }, { type: "slurm", command: ["w"], sharedDir: "/s" }])
		expect(fields({ launcher: other, gpuMemoryGb: 1 })).toEqual(["gpuMemoryGb"]);
});

it("D28: sleep needs two commands, and GPUs of this machine", () => {
	const launcher = { type: "process", command: ["w"] };
	const sleep = { command: ["a"], wakeCommand: ["b", "c"] };
	expect(endpoint({ launcher, sleep, gpusPerWorker: 1 }).sleep).toEqual({
		...sleep,
		timeoutMs: 60_000,
		maxMs: 86_400_000,
	});
	expect(endpoint({ launcher, sleep: { ...sleep, maxMs: "12h" }, gpuMemoryGb: 2 })).toMatchObject({
		sleep: { maxMs: 43_200_000 },
	});
	expect(endpoint({ launcher, sleep: null })).not.toHaveProperty("sleep");
	expect(fields({ launcher, sleep: { command: ["a"] }, gpusPerWorker: 1 })).toEqual(["sleep.wakeCommand"]);
	expect(fields({ launcher, sleep: { ...sleep, command: "a" }, gpusPerWorker: 1 })).toEqual(["sleep.command"]);
	expect(fields({ launcher, sleep: { ...sleep, timeoutMs: 999 }, gpusPerWorker: 1 })).toEqual(["sleep.timeoutMs"]);
	expect(fields({ launcher, sleep: {}, gpusPerWorker: 1 })).toEqual(["sleep.command", "sleep.wakeCommand"]);
	expect(fields({ launcher, sleep })).toEqual(["sleep"]);
	const docker = { type: "docker", image: "a" };
	expect(fields({ launcher: docker, sleep, gpusPerWorker: 1 })).toEqual([]);
	for (const other of [{ ...docker, hosts: "all" }, { type: "external" }, { type: "kubernetes", image: "a" }])
		expect(fields({ launcher: other, sleep, gpusPerWorker: 1 })).toEqual(["sleep"]);
});
