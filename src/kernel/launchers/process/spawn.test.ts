/** The environment of a worker's process. */
import { describe, expect, it } from "vitest";
import type { ProcessSettings } from "./settings.ts";
import { environmentOf } from "./spawn.ts";

const serviceEnv = { PATH: "/bin", HOME: "/root", CUDA_VISIBLE_DEVICES: "" };
const settings: ProcessSettings = { type: "process", command: ["node"] };
const worker = { workerId: "w-1", env: { A: "1", HOME: "/h" }, serviceId: "store", gpus: [], settings };

describe("environmentOf", () => {
	it("D25: a process gets the environment of the service under its own, its mark and its GPUs", async () => {
		expect(await environmentOf({ ...worker, gpus: [1, 3] }, serviceEnv)).toEqual({
			PATH: "/bin",
			HOME: "/h",
			A: "1",
			RUNPOD_POD_HOSTNAME: "w-1",
			RUNPOD_GPU_COUNT: "2",
			SLUICE_SERVICE_ID: "store",
			CUDA_DEVICE_ORDER: "PCI_BUS_ID",
			CUDA_VISIBLE_DEVICES: "1,3",
			HIP_VISIBLE_DEVICES: "1,3",
		});
	});

	it("D25: without GPUs of its own it keeps what the service says", async () => {
		expect(await environmentOf(worker, serviceEnv)).toMatchObject({ CUDA_VISIBLE_DEVICES: "" });
	});

	it("D36: variables of RunPod's machines, never over those of the endpoint", async () => {
		const volumes = ["models:/runpod-volume"];
		const env = { RUNPOD_GPU_COUNT: "7" };
		expect(await environmentOf({ ...worker, env, gpus: [0], settings: { ...settings, volumes } }, {})).toMatchObject({
			RUNPOD_GPU_COUNT: "7",
			RUNPOD_VOLUME_ID: "models",
		});
	});

	const secrets = {
		PATH: "/bin",
		LC_ALL: "C",
		AWS_SECRET: "s",
		HF_TOKEN: "t",
		CUDA_VISIBLE_DEVICES: "",
	};
	const few = { PATH: "/bin", LC_ALL: "C", CUDA_VISIBLE_DEVICES: "" };

	it.each<[string, Partial<ProcessSettings>, Record<string, string>]>([
		["by default all", {}, secrets],
		["all", { inheritEnv: "all" }, secrets],
		["minimal", { inheritEnv: "minimal" }, few],
		["a list next to the minimal ones", { inheritEnv: ["AWS_*"] }, { ...few, AWS_SECRET: "s" }],
		["minimal as another user", { user: "1000:1000" }, few],
		["all as another user, if so set", { user: "1000:1000", inheritEnv: "all" }, secrets],
	])("D25: inherits %s", async (_, change, inherited) => {
		expect(await environmentOf({ ...worker, env: {}, settings: { ...settings, ...change } }, secrets)).toEqual({
			...inherited,
			RUNPOD_POD_HOSTNAME: "w-1",
			SLUICE_SERVICE_ID: "store",
		});
	});
});
