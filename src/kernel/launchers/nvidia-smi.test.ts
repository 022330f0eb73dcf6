/** What the programs of GPU makers print. */
import { describe, expect, it } from "vitest";
import { smiOutput } from "../../../test/support/gpu-programs.ts";
import { gpusIn, memoryByWorker, processesIn, withMigDevices } from "./nvidia-smi.ts";
import { rocmGpusIn } from "./machine-gpus.ts";

const MIB = 1024 ** 2;

describe("nvidia-smi", () => {
	it("D48: GPUs; what one does not report is left out", () => {
		const lines = [
			"0, NVIDIA L4, 23034, 512, 37, GPU-8f1c, 550.54.15, Disabled",
			"junk, x, 1, 1, 1",
			"2, NVIDIA GB10, [N/A], [N/A], [N/A], [N/A], 999.1, [N/A]",
			"No devices were found",
		];
		expect(gpusIn(lines.join("\n"))).toEqual([
			{
				...{ id: "0", uuid: "GPU-8f1c", model: "NVIDIA L4", memory: 23_034 * MIB, memoryUsed: 512 * MIB, busy: 37 },
				...{ cuda: "12.4", isSplit: false },
			},
			{ id: "2", model: "NVIDIA GB10", memory: 0, isSplit: false },
		]);
	});

	it("D27: MIG devices in place of the GPUs that are split, in the order of the list", () => {
		const { gpus, list } = smiOutput([
			{ uuid: "GPU-a" },
			{
				uuid: "GPU-b",
				model: "NVIDIA H100 80GB HBM3",
				mig: [
					["1g.10gb+me", "MIG-1"],
					["1c.3g.40gb", "MIG-2"],
				],
			},
			{ uuid: "GPU-c", mig: [] },
			{ uuid: "GPU-d", mig: [["7g.80gb", "MIG-3"]] },
		]);
		const found = withMigDevices(gpusIn(gpus.join("\n")), list.join("\n"));
		expect(found.map(({ id, address, model, memory }) => [id, address, model, memory])).toEqual([
			["0", "GPU-a", "NVIDIA L4", 23_034 * MIB],
			["1", "MIG-1", "NVIDIA H100 80GB HBM3 MIG 1g.10gb+me", 10e9],
			["2", "MIG-2", "NVIDIA H100 80GB HBM3 MIG 1c.3g.40gb", 40e9],
			["3", "MIG-3", "NVIDIA L4 MIG 7g.80gb", 80e9],
		]);
	});

	it("D27: memory of processes, added up by worker and GPU", () => {
		const text = "GPU-a, 7, 100\nGPU-a, 8, 50\nGPU-b, 8, 1\nGPU-a, 9, 7\nGPU-a, 7, [N/A]\n0, NVIDIA L4, 23034\n";
		const processes = processesIn(text);
		expect(processes).toHaveLength(4);
		const found = memoryByWorker(processes, (pid) => (pid < 9 ? "w" : undefined));
		expect([...found].map(([worker, byGpu]) => [worker, [...byGpu]])).toEqual([
			[
				"w",
				[
					["GPU-a", 150 * MIB],
					["GPU-b", MIB],
				],
			],
		]);
	});
});

describe("rocm-smi", () => {
	it("D27: GPUs, in the letters of any version, with warnings around the JSON", () => {
		const cards = {
			card0: {
				"GPU use (%)": "7",
				"VRAM Total Memory (B)": "100",
				"VRAM Total Used Memory (B)": "10",
				"Card Series": "A",
			},
			card1: { "GPU use (%)": "N/A", "Card series": "B" },
			system: { "Driver version": "6.8.5" },
		};
		expect(rocmGpusIn(`WARNING: low-power state\n\n${JSON.stringify(cards)}\nWARNING: more\n`)).toEqual([
			{ id: "0", model: "A", memory: 100, memoryUsed: 10, busy: 7 },
			{ id: "1", model: "B", memory: 0 },
		]);
		for (const text of ["", "WARNING: No JSON data to report", "{", "[]", '{"card0": null}'])
			expect(rocmGpusIn(text)).toEqual([]);
	});
});
