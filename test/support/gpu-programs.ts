/** Programs in a folder of PATH that print what those of GPU makers print. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { vi } from "vitest";

export interface SmiGpu {
	uuid: string;
	/** Default: NVIDIA L4. */
	model?: string;
	/** Default: 23,034. */
	mib?: number;
	/** Profiles and UUIDs; the GPU is used only as these. */
	mig?: readonly (readonly [profile: string, uuid: string])[];
}

function program(folder: string, name: string, lines: readonly string[]): void {
	writeFileSync(join(folder, name), ["#!/bin/sh", ...lines, ""].join("\n"), { mode: 0o755 });
	vi.stubEnv("PATH", `${folder}:${process.env["PATH"]}`);
}

/** What `nvidia-smi` prints of such GPUs, as in its version 535. */
export function smiOutput(gpus: readonly SmiGpu[]): { gpus: string[]; list: string[] } {
	const name = ({ model = "NVIDIA L4" }: SmiGpu): string => model;
	return {
		gpus: gpus.map((gpu, index) => {
			const [use, mode] = gpu.mig ? ["[N/A]", "Enabled"] : ["37", "[N/A]"];
			return [index, name(gpu), gpu.mib ?? 23_034, 512, use, gpu.uuid, "535.216.01", mode].join(", ");
		}),
		list: gpus.flatMap((gpu, index) => [
			`GPU ${index}: ${name(gpu)} (UUID: ${gpu.uuid})`,
			...(gpu.mig ?? []).map(
				([profile, uuid], device) => `  MIG ${profile.padEnd(11)} Device  ${device}: (UUID: ${uuid})`,
			),
		]),
	};
}

/** `nvidia-smi` for this process and the services in it. */
export function withSmi(folder: string, gpus: readonly SmiGpu[]) {
	const apps = join(folder, "apps");
	const calls = join(folder, "calls");
	const text = smiOutput(gpus);
	const echo = (lines: readonly string[]): string => lines.map((line) => `echo '${line}'`).join("; ");
	program(folder, "nvidia-smi", [
		`echo "$1" >> '${calls}'`,
		'case "$1" in',
		`--query-compute-apps=gpu_uuid,pid,used_memory) cat '${apps}' ;;`,
		`-L) ${echo(text.list)} ;;`,
		`*) ${echo(text.gpus)} ;;`,
		"esac",
	]);
	writeFileSync(apps, "");
	writeFileSync(calls, "");
	return {
		/** Processes with memory in MiB, in place of those before. */
		runs(...processes: { gpu: string; pid: number; mib: number | "[N/A]" }[]): void {
			writeFileSync(apps, processes.map(({ gpu, pid, mib }) => `${gpu}, ${pid}, ${mib}\n`).join(""));
		},
		/** From now on. */
		fails: () => program(folder, "nvidia-smi", ["exit 15"]),
		/** How many times it was asked for processes. */
		readings: () => readFileSync(calls, "utf8").split("--query-compute-apps").length - 1,
	};
}

/** `rocm-smi` of version 6 for this process and the services in it, and no `nvidia-smi`. */
export function withRocm(folder: string, cards: readonly { series: string; bytes: number; used: number }[]): void {
	const facts = cards.map(({ series, bytes, used }, index) => [
		`card${index}`,
		{
			"GPU use (%)": "12",
			"VRAM Total Memory (B)": String(bytes),
			"VRAM Total Used Memory (B)": String(used),
			"Card Series": series,
			"Card Model": "0x744c",
			"Card Vendor": "Advanced Micro Devices, Inc. [AMD/ATI]",
			"GFX Version": "gfx1100",
		},
	]);
	const json = JSON.stringify(Object.fromEntries(facts));
	program(folder, "rocm-smi", ["echo 'WARNING: AMD GPU device(s) is/are in a low-power state.'", `echo '${json}'`]);
}
