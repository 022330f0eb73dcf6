/** Which cores a process and what it starts may use (Linux, `taskset` of util-linux). */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Numbers of the cores that this process may use, such as those of `0-3,8`. */
export function allowedCores(): number[] {
	const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync("/proc/self/status", "utf8"))![1]!;
	return list.split(",").flatMap((range) => {
		const [first, last = first] = range.split("-").map(Number);
		return Array.from({ length: last! - first! + 1 }, (_, place) => first! + place);
	});
}

/** Pins this process. Programs that it starts afterwards are pinned as well, with all that they start. */
export function pin(cores: readonly number[]): void {
	execFileSync("taskset", ["--all-tasks", "--pid", "--cpu-list", cores.join(","), String(process.pid)], {
		stdio: ["ignore", "ignore", "inherit"],
	});
}
