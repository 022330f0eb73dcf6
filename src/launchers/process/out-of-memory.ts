/** Recognizes processes that ended for lack of memory. */
import { readFileSync } from "node:fs";
import type { ExitReason } from "../../core/workers/worker-reason.ts";

const COUNTER = /^oom_kill (\d+)$/m;

/** How many processes the kernel has killed for lack of memory, in any cgroup; 0 if unknown. */
export function oomKills(): number {
	try {
		return Number(COUNTER.exec(readFileSync("/proc/vmstat", "utf8"))?.[1] ?? 0);
	} catch {
		return 0;
	}
}

/** `kills`: whether {@link oomKills} grew shortly before the end, which no stop requested. */
export function memoryReason(
	{ signal, lastOutput }: { signal?: string | undefined; lastOutput: string },
	kills: boolean,
): ExitReason | undefined {
	if (signal === "SIGKILL" && kills)
		return {
			code: "out_of_memory",
			message:
				"it was killed by the kernel, which had run out of memory: give the machine or the cgroup more, " +
				"or lower workersMax",
			crash: true,
		};
	if (signal === "SIGABRT" && lastOutput.includes("JavaScript heap out of memory"))
		return {
			code: "out_of_memory",
			message: "its JavaScript heap was full: raise it in env, such as NODE_OPTIONS: --max-old-space-size=4096",
			crash: true,
		};
	return undefined;
}
