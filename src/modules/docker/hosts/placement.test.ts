/** Which host a worker gets, as a table, and the sentence when none has room. */
import { describe, expect, it } from "vitest";
import type { GpuPart } from "../../../kernel/core/workers/gpu-part.ts";
import { hasImage, place, type PlacementHost, type PlacementQuery } from "./placement.ts";

const query: PlacementQuery = { gpuCount: 0, placement: "pack", image: "ocr:1" };
const gpu = (id: string, q: { model?: string; memoryGb?: number; cuda?: string; parts?: GpuPart[] } = {}) => ({
	id,
	model: "NVIDIA L4",
	memoryGb: 24.2,
	parts: [],
	...q,
});
const used = (id: string) => gpu(id, { parts: [{}] });

function host(name: string, change: Partial<PlacementHost> = {}): PlacementHost {
	return {
		name,
		labels: [],
		state: "reachable",
		drained: false,
		gpus: [],
		workers: 0,
		images: [],
		...change,
	};
}

type Case = [title: string, Partial<PlacementQuery>, PlacementHost[], host: string, gpus?: string[]];

describe("place", () => {
	it.each<Case>([
		["the first of equal hosts", {}, [host("a"), host("b")], "a"],
		["packed: the fullest", {}, [host("a"), host("b", { workers: 1 })], "b"],
		["spread: the emptiest", { placement: "spread" }, [host("a", { workers: 1 }), host("b")], "b"],
		[
			"packed: the image counts more than the load",
			{},
			[host("a", { workers: 3 }), host("b", { images: ["ocr:1"] })],
			"b",
		],
		[
			"spread: the load counts more than the image",
			{ placement: "spread" },
			[host("a", { workers: 1, images: ["ocr:1"] }), host("b")],
			"b",
		],
		[
			"spread: the image decides between equal loads",
			{ placement: "spread" },
			[host("a"), host("b", { images: ["ocr:1"] })],
			"b",
		],
		["by name", { hosts: ["b"] }, [host("a"), host("b")], "b"],
		["by label", { hosts: ["big"] }, [host("a"), host("b", { labels: ["big"] })], "b"],
		["not one that is drained", {}, [host("a", { drained: true }), host("b")], "b"],
		["not an unreachable one", {}, [host("a", { state: { unreachableMs: 1 } }), host("b")], "b"],
		["not one before its first check", {}, [host("a", { state: "connecting" }), host("b")], "b"],
		["not one with workersMax", {}, [host("a", { workers: 2, workersMax: 2 }), host("b")], "b"],
		[
			"packed: the host with the fewest free GPUs",
			{ gpuCount: 1 },
			[host("a", { gpus: [gpu("1"), gpu("2")] }), host("b", { gpus: [used("3"), gpu("4")] })],
			"b",
			["4"],
		],
		[
			"spread: the host with the most free GPUs",
			{ gpuCount: 1, placement: "spread" },
			[host("a", { gpus: [used("1"), gpu("2")] }), host("b", { gpus: [gpu("3"), gpu("4")] })],
			"b",
			["3"],
		],
		[
			"as many GPUs as needed on one host",
			{ gpuCount: 2 },
			[host("a", { gpus: [gpu("1"), used("2")] }), host("b", { gpus: [gpu("3"), gpu("4")] })],
			"b",
			["3", "4"],
		],
		[
			"the model as a part of its name, in any case",
			{ gpuCount: 1, gpu: { model: "a100" } },
			[host("a", { gpus: [gpu("1"), gpu("2", { model: "NVIDIA A100-SXM4-40GB" })] })],
			"a",
			["2"],
		],
		[
			"the smallest GPU that is large enough",
			{ gpuCount: 1, gpu: { memoryMinGb: 20 } },
			[
				host("a", {
					gpus: [gpu("1", { memoryGb: 80 }), gpu("2", { memoryGb: 16.1 }), gpu("3", { memoryGb: 24.2 })],
				}),
			],
			"a",
			["3"],
		],
		[
			"not a driver that is too old, but one that is not known",
			{ gpuCount: 1, gpu: { minCudaVersion: "12.4" } },
			[host("a", { gpus: [gpu("1", { cuda: "12.2" }), gpu("2"), gpu("3", { cuda: "12.8" })] })],
			"a",
			["2"],
		],
		[
			"one of several models by its whole name",
			{ gpuCount: 1, gpu: { models: ["NVIDIA A10", "NVIDIA L40"] } },
			[host("a", { gpus: [gpu("1"), gpu("2", { model: "NVIDIA L40S" }), gpu("3", { model: "NVIDIA L40" })] })],
			"a",
			["3"],
		],
		[
			"not an excluded model",
			{ gpuCount: 1, gpu: { model: "L4", excludedModels: ["NVIDIA L4"] } },
			[host("a", { gpus: [gpu("1"), gpu("2", { model: "NVIDIA L40S" })] })],
			"a",
			["2"],
		],
		[
			"a driver of an allowed CUDA version, neither an older nor a newer one",
			{ gpuCount: 1, gpu: { allowedCudaVersions: ["12.4", "12.6"] } },
			[host("a", { gpus: [gpu("1", { cuda: "12.2" }), gpu("2", { cuda: "13.0" }), gpu("3", { cuda: "12.6" })] })],
			"a",
			["3"],
		],
		[
			"a driver that is not known, whatever versions are allowed",
			{ gpuCount: 1, gpu: { allowedCudaVersions: ["12.4"] } },
			[host("a", { gpus: [gpu("1")] })],
			"a",
			["1"],
		],
		[
			"an empty list allows all",
			{ gpuCount: 1, gpu: { allowedCudaVersions: [] } },
			[host("a", { gpus: [gpu("1", { cuda: "13.0" })] })],
			"a",
			["1"],
		],
		[
			"a part: the GPU with the least free memory that suffices",
			{ gpuCount: 1, memoryGb: 8 },
			[
				host("a", {
					gpus: [
						gpu("1"),
						gpu("2", { parts: [{ memoryGb: 12 }] }),
						gpu("3", { parts: [{ memoryGb: 12 }, { memoryGb: 4 }] }),
						used("4"),
					],
				}),
			],
			"a",
			["2"],
		],
		[
			"a part, packed: the host with the least free memory",
			{ gpuCount: 1, memoryGb: 8 },
			[host("a", { gpus: [gpu("1")] }), host("b", { gpus: [gpu("2", { parts: [{ memoryGb: 1 }] })] })],
			"b",
			["2"],
		],
		[
			"whole: not a GPU of which another has a part",
			{ gpuCount: 1 },
			[host("a", { gpus: [gpu("1", { parts: [{ memoryGb: 1 }] }), gpu("2")] })],
			"a",
			["2"],
		],
	])("%s", (_, change, hosts, name, gpus = []) => {
		expect(place({ ...query, ...change }, hosts)).toEqual({ host: name, gpus });
	});

	it("names every host and why it has no place", () => {
		const hosts = [
			host("rig1", { gpus: [used("1"), used("2")] }),
			host("rig2", { state: { unreachableMs: 44_000 } }),
			host("rig3", { drained: true }),
			host("rig4", { state: "connecting" }),
			host("rig5"),
			host("rig6", { gpus: { fault: "no such image" } }),
			host("rig7", { workers: 4, workersMax: 4 }),
		];
		expect(place({ ...query, gpuCount: 1 }, hosts)).toEqual({
			reason:
				"No host has room for a worker: rig1: 0 of 2 GPUs free; rig2: unreachable for 40 s; " +
				"rig3: drained; rig4: not connected yet; rig5: no GPUs; " +
				"rig6: its GPUs are not known (no such image); rig7: 4 of 4 workers run.",
		});
	});

	it.each([
		[{ gpuCount: 2 }, [gpu("1"), used("2")], "1 of 2 GPUs free, 2 needed"],
		[{ gpuCount: 1, gpu: { model: "A100" } }, [gpu("1"), gpu("2")], "0 of 2 GPUs are A100"],
		[
			{ gpuCount: 2, gpu: { model: "L4", memoryMinGb: 24 } },
			[gpu("1"), gpu("2", { memoryGb: 16 })],
			"1 of 2 GPUs is L4 with 24 GB or more",
		],
		[
			{ gpuCount: 1, gpu: { memoryMinGb: 40 } },
			[gpu("1", { memoryGb: 42.9, parts: [{}] })],
			"0 of 1 GPUs with 40 GB or more free",
		],
		[
			{ gpuCount: 1, memoryGb: 10, gpu: { model: "L4" } },
			[gpu("1", { parts: [{ memoryGb: 14 }] }), used("2"), gpu("3", { model: "A2" })],
			"0 of 2 GPUs L4 with 10 GB free",
		],
		[
			{ gpuCount: 1, gpu: { minCudaVersion: "12.4" } },
			[gpu("1", { cuda: "12.2" }), gpu("2", { cuda: "11.8" })],
			"0 of 2 GPUs are with a driver for CUDA 12.4",
		],
		[
			{ gpuCount: 1, gpu: { models: ["NVIDIA A10", "NVIDIA L40"], excludedModels: ["NVIDIA L40"] } },
			[gpu("1")],
			"0 of 1 GPUs are NVIDIA A10 or NVIDIA L40 other than NVIDIA L40",
		],
		[
			{ gpuCount: 1, gpu: { allowedCudaVersions: ["12.4", "12.6"] } },
			[gpu("1", { cuda: "13.0" })],
			"0 of 1 GPUs are with a driver of CUDA 12.4 or 12.6",
		],
		[{ gpuCount: 1, memoryGb: 24 }, [gpu("1"), gpu("2")], "0 of 2 GPUs are with 24.5 GB or more"],
	])("says which GPUs are missing: %j", (change, gpus, why) => {
		expect(place({ ...query, ...change }, [host("rig1", { gpus })])).toEqual({
			reason: `No host has room for a worker: rig1: ${why}.`,
		});
	});

	it.each([
		[9_999, "less than 10 s"],
		[10_000, "10 s"],
		[119_999, "110 s"],
		[120_000, "2 min"],
		[7_199_999, "119 min"],
		[7_200_000, "2 h"],
	])("rounds a time of %i ms", (unreachableMs, text) => {
		expect(place(query, [host("a", { state: { unreachableMs } })])).toEqual({
			reason: `No host has room for a worker: a: unreachable for ${text}.`,
		});
	});

	it("says which names there are", () => {
		expect(place({ ...query, hosts: ["rig9", "big"] }, [host("rig1"), host("rig2")])).toEqual({
			reason: "No host has the name or label rig9 or big; the configured hosts are rig1, rig2.",
		});
		expect(place(query, [])).toEqual({
			reason: "No hosts are configured: add them to hosts in sluice.yaml.",
		});
	});
});

it.each([
	["ocr:1", ["ocr:1"], true],
	["ocr", ["ocr:latest"], true],
	["ocr", ["ocr:1"], false],
	["registry:5000/ocr", ["registry:5000/ocr:latest"], true],
	["ocr@sha256:0a", ["ocr@sha256:0a"], true],
])("hasImage %s in %j: %s", (image, images, present) => {
	expect(hasImage({ images }, image)).toBe(present);
});
