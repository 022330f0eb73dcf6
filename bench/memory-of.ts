/** Memory and processor time of a process on Linux. */
import { readFileSync, writeFileSync } from "node:fs";

function field(pid: number, name: "VmRSS" | "VmHWM"): number {
	const found = new RegExp(`${name}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, "utf8"));
	return Math.round(Number(found?.[1]) / 102.4) / 10;
}

/** Resident memory now, MB. */
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

/** Clock ticks of a second in `/proc`. */
const TICKS = 100;

/** Processor time so far, s. */
export function processorSeconds(pid: number): number {
	const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
	return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

/** Processor time in the next seconds, % of a core. */
export async function processorShare(pid: number, seconds: number): Promise<number> {
	const [before, began] = [processorSeconds(pid), performance.now()];
	await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
	const share = (processorSeconds(pid) - before) / ((performance.now() - began) / 1000);
	return Math.round(share * 10_000) / 100;
}
