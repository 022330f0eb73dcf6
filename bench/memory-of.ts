/** Resident memory of a process on Linux, MB. */
import { readFileSync, writeFileSync } from "node:fs";

function field(pid: number, name: "VmRSS" | "VmHWM"): number {
	const found = new RegExp(`${name}:\\s+(\\d+) kB`).exec(
		readFileSync(`/proc/${pid}/status`, "utf8"),
	);
	return Math.round(Number(found?.[1]) / 102.4) / 10;
}

/** Now. */
export function residentMb(pid: number): number {
	return field(pid, "VmRSS");
}

/** The most since {@link forgetPeak}. */
export function peakMb(pid: number): number {
	return field(pid, "VmHWM");
}

/** Begins a new peak. */
export function forgetPeak(pid: number): void {
	writeFileSync(`/proc/${pid}/clear_refs`, "5");
}
