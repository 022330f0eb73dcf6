/** Pools of GPUs as models, and which no machine has. */
import { describe, expect, it } from "vitest";
import { type GpuRequest, gpuNeedIn, gpuRequestOf, knownModels, poolOf, slurmGpuIn } from "./gpu-pools.ts";

const L4 = "NVIDIA L4";
const RTX = "NVIDIA GeForce RTX 4090";
const OWN = "NVIDIA GeForce GTX 1080 Ti";

describe("gpuNeedIn", () => {
	it.each<[GpuRequest, string[] | undefined, object]>([
		[{ pools: ["ADA_24"] }, undefined, { models: [RTX] }],
		[{ pools: ["ADA_24", RTX, OWN] }, [OWN], { models: [RTX, OWN] }],
		[
			{ pools: ["ADA_48_PRO"], excludedTypes: ["NVIDIA L40"] },
			["NVIDIA L40S"],
			{ models: ["NVIDIA L40S", "NVIDIA RTX 6000 Ada Generation"] },
		],
		[{ pools: ["ANY"] }, [L4], {}],
		[{ pools: ["constructor"] }, undefined, { models: ["constructor"] }],
		[{ pools: ["ADA_24", "ANY"], excludedTypes: [L4] }, [L4, OWN], { excludedModels: [L4] }],
		[
			{ pools: ["ANY"], allowedCudaVersions: ["12.4"], minCudaVersion: null },
			undefined,
			{ allowedCudaVersions: ["12.4"] },
		],
		[{ pools: ["ANY"], allowedCudaVersions: [], minCudaVersion: "12.4" }, undefined, { minCudaVersion: "12.4" }],
		[{ pools: ["ANY"], minCudaVersion: "" }, undefined, {}],
	])("RunPod v2: %j where machines have %j is %j", (request, known, need) => {
		expect(gpuNeedIn(request, known)).toEqual(need);
	});

	it.each<[GpuRequest, string[] | undefined, string]>([
		[
			{ pools: ["HOPPER_141", "ADA_80_PRO"] },
			[L4, OWN],
			`No machine has a GPU of gpu.pools HOPPER_141 and ADA_80_PRO: the machines have ${L4} and ${OWN}.`,
		],
		[{ pools: ["ANY"], excludedTypes: [L4] }, [L4], `of gpu.pools ANY without ${L4}: the machines have ${L4}.`],
		[{ pools: ["ANY"] }, [], "the machines have no GPUs."],
		[{ pools: ["ADA_24"], excludedTypes: [L4] }, undefined, `gpu.excludedTypes: ${L4} is in none of the pools.`],
		[{ pools: ["ADA_24"], excludedTypes: [RTX] }, undefined, "must leave at least one type"],
	])("RunPod v2: %j where machines have %j is refused", (request, known, says) => {
		expect(gpuNeedIn(request, known)).toEqual({ fault: expect.stringContaining(says) });
	});
});

describe("slurmGpuIn", () => {
	it.each<[GpuRequest, object]>([
		[{ pools: ["ANY"] }, {}],
		[{ pools: ["a100"] }, { gpuType: "a100" }],
		[{ pools: ["ADA_24"] }, { fault: expect.stringContaining("as the Slurm cluster names it") }],
		[{ pools: [L4] }, { fault: expect.stringContaining("as the Slurm cluster names it") }],
		[{ pools: ["a100", "h100"] }, { fault: expect.stringContaining("must be one type") }],
		[
			{ pools: ["ANY"], minCudaVersion: "12.4" },
			{ fault: expect.stringMatching(/^gpu\.minCudaVersion has no meaning/) },
		],
		[{ pools: ["ANY"], allowedCudaVersions: ["12.4"] }, { fault: expect.stringContaining("allowedCudaVersions") }],
		[{ pools: ["ANY"], excludedTypes: ["x"] }, { fault: expect.stringContaining("excludedTypes") }],
	])("RunPod v2: %j on Slurm is %j", (request, settings) => {
		expect(slurmGpuIn(request)).toEqual(settings);
	});
});

it("RunPod v2: a need as a request means the same need", () => {
	for (const need of [
		{},
		{ models: [L4] },
		{ excludedModels: [L4], minCudaVersion: "12.4" },
		{ allowedCudaVersions: ["12.4"] },
	])
		expect(gpuNeedIn(gpuRequestOf(need), undefined)).toEqual(need);
});

it("RunPod v2: the pool of a model", () => {
	expect([RTX, "NVIDIA H100 80GB HBM3", OWN].map(poolOf)).toEqual(["ADA_24", "ADA_80_PRO", null]);
});

it("RunPod v2: models are known once those of all machines are", () => {
	expect(knownModels([{ model: L4 }, { model: L4 }], [{ areGpusKnown: true }])).toEqual([L4]);
	expect(knownModels([{ model: L4 }, { model: undefined }], [])).toBeUndefined();
	expect(knownModels([{ model: L4 }], [{ areGpusKnown: true }, { areGpusKnown: false }])).toBeUndefined();
});
