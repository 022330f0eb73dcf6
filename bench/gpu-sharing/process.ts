/** Processes of this machine with pretended GPUs; what they were started with is in `/proc`. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Open, parts, PROGRAM, type Share, SIZE_GB, SIZE_MIB } from "./platform.ts";

export const open: Open = async ({ folder, notes }) => {
	writeFileSync(
		join(folder, "nvidia-smi"),
		`#!/bin/sh\nfor gpu in 0 1; do echo "$gpu, NVIDIA L4, ${SIZE_MIB}, 0, 0"; done\n`,
		{ mode: 0o755 },
	);
	return {
		endpoints: parts({ type: "process", command: [process.execPath, PROGRAM] }),
		capacity: SIZE_GB,
		unit: "GB",
		service: { env: { SLUICE_GPUS: "2", PATH: `${folder}:${process.env["PATH"]}` } },
		shares: async () => readdirSync("/proc").flatMap((pid) => sharesOf(pid, notes)),
		close: async () => {},
	};
};

function sharesOf(pid: string, notes: string): Share[] {
	let text: string;
	try {
		text = /^\d+$/.test(pid) ? readFileSync(`/proc/${pid}/environ`, "utf8") : "";
	} catch {
		return [];
	}
	const env = new Map(text.split("\0").map((line) => line.split(/=(.*)/s) as [string, string]));
	if (env.get("NOTES") !== notes) return [];
	const amount = Number(env.get("SLUICE_GPU_MEMORY_GB") ?? SIZE_GB);
	return env
		.get("CUDA_VISIBLE_DEVICES")!
		.split(",")
		.map((gpu) => ({ worker: env.get("RUNPOD_POD_ID")!, gpu, amount }));
}
