/** Where a figure was taken: machine, commit, and what its disk takes for a flush. */
import { execFileSync } from "node:child_process";
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";

/** Facts printed with every result. */
export function machine(): Record<string, string | number> {
	const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
	const changed = execFileSync("git", ["status", "--porcelain"], { encoding: "utf8" }).trim() !== "";
	return {
		cpu: cpus()[0]?.model ?? "unknown",
		cores: cpus().length,
		memoryGb: Math.round(totalmem() / 2 ** 30),
		node: process.version,
		commit: commit + (changed ? " with changes" : ""),
	};
}

/** The middle value; of an even number the lower one. */
export function median(values: readonly number[]): number {
	return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? Number.NaN;
}

export interface Spread {
	median: number;
	least: number;
	most: number;
}

/** To three digits. */
export function spread(values: readonly number[]): Spread {
	const rounded = values.map((value) => Number(value.toPrecision(3)));
	return { median: median(rounded), least: Math.min(...rounded), most: Math.max(...rounded) };
}

/** Times of `fdatasync` after a write of 4 KiB in this folder, ms. */
export function flushTimes(folder: string, rounds = 300): { p50: number; p99: number } {
	const path = join(folder, "flush.bin");
	const file = openSync(path, "w");
	const page = Buffer.alloc(4096, 1);
	const times: number[] = [];
	for (let round = 0; round < rounds; round += 1) {
		writeSync(file, page, 0, page.length, round * page.length);
		const began = performance.now();
		fdatasyncSync(file);
		times.push(performance.now() - began);
	}
	closeSync(file);
	rmSync(path);
	times.sort((a, b) => a - b);
	const at = (part: number): number => Number(times[Math.floor(times.length * part)]!.toFixed(3));
	return { p50: at(0.5), p99: at(0.99) };
}
