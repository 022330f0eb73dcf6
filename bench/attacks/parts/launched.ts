/** Worker processes that a service launched. They outlive it, so each leaves its pid in a folder of the attack. */
import { readdirSync, readFileSync } from "node:fs";

const PREFIX = "pid-";

/** A shell command that leaves its pid in `$DIR`; `script` goes on with the same pid. */
export function launchedShell(script: string): string[] {
	return ["sh", "-c", `: > "$DIR/${PREFIX}$$"; ${script}`];
}

/** A Node program that leaves its pid in `$DIR`. */
export function launchedNode(program: string): string[] {
	return launchedShell(`exec "${process.execPath}" "${program}"`);
}

/** Pids of those that began, in the order of their pids, alive or not. */
export function begunIn(folder: string): number[] {
	return readdirSync(folder)
		.flatMap((name) => (name.startsWith(PREFIX) ? [Number(name.slice(PREFIX.length))] : []))
		.toSorted((a, b) => a - b);
}

/** Whether the process is one of this folder, and not another with its number. */
export function livesIn(folder: string, pid: number): boolean {
	try {
		return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`DIR=${folder}`);
	} catch {
		return false;
	}
}

/** Kills those that still live. */
export function endAllIn(folder: string): void {
	for (const pid of begunIn(folder)) if (livesIn(folder, pid)) process.kill(pid, "SIGKILL");
}
