/**
 * The list of processes: `/proc` on Linux, else `ps`. Synchronous, because a pid must be signalled in the turn in
 * which it was found.
 */
// oxlint-disable-next-line no-restricted-imports -- on other systems than Linux, for development
import { execFileSync } from "node:child_process";
// oxlint-disable-next-line no-restricted-imports -- of /proc, which waits for no disk
import { readdirSync, readFileSync } from "node:fs";

/** `ended`: a zombie, whose parent has not read its exit yet. */
export interface ProcessRow {
	pid: number;
	/** Process group, named by its leader's pid. */
	pgid: number;
	/** The process that started it, if that still runs. Linux only. */
	parent?: number;
	/** With the pid unique within this boot. */
	startTime: number | string;
	ended: boolean;
	/** Linux only, where it costs no more than the rest. */
	usage?: ProcessUsage;
}

export interface ProcessUsage {
	/** Includes ended children. */
	cpuMs: number;
	/** Bytes. Shared pages count in each process. */
	memory: number;
}

/** `USER_HZ` is 100 on every Linux. The page size is that of x86-64 and most of ARM64. */
const TICK_MS = 10;
const PAGE = 4096;

/** Omits processes that end while they are read. Each throws if the system does not answer, which proves no end. */
export interface ProcessTable {
	find(pid: number): ProcessRow | undefined;
	all(): ProcessRow[];
	/** Environment at the process's start, as `NAME=value`. Empty if unreadable. */
	environment(pid: number): string[];
	/** Undefined where start times are dates. */
	boot(): string | undefined;
}

const ENDED_OR_FOREIGN = new Set(["ENOENT", "ESRCH", "EACCES"]);

/**
 * Undefined if the process has ended or is another user's. Throws where that is not known, such as without a free file
 * descriptor.
 */
function read(path: string): string | undefined {
	try {
		return readFileSync(path, "utf8");
	} catch (error) {
		if (ENDED_OR_FOREIGN.has((error as NodeJS.ErrnoException).code ?? "")) return undefined;
		throw error;
	}
}

/** Whether the end of this process ends its container: it is the first one, or the child of a container's init. */
export function isFirstInContainer({ pid, ppid }: { pid: number; ppid: number }): boolean {
	if (process.platform !== "linux") return false;
	return pid === 1 || (ppid === 1 && !/^(systemd|init)\s*$/.test(read("/proc/1/comm") ?? ""));
}

/** The name in brackets may contain spaces and brackets. */
export function parseStat(pid: number, stat: string): ProcessRow {
	const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
	const number = (index: number): number => Number(fields[index] ?? 0);
	return {
		pid,
		parent: number(1),
		pgid: number(2),
		startTime: number(19),
		ended: fields[0] === "Z" || fields[0] === "X",
		usage: {
			cpuMs: (number(11) + number(12) + number(13) + number(14)) * TICK_MS,
			memory: number(21) * PAGE,
		},
	};
}

/** `startTime` is field 22 of `/proc/<pid>/stat`, clock ticks since boot. */
export const procTable: ProcessTable = {
	find(pid) {
		const stat = read(`/proc/${pid}/stat`);
		return stat ? parseStat(pid, stat) : undefined;
	},
	all() {
		return readdirSync("/proc")
			.filter((name) => /^\d+$/.test(name))
			.map((name) => procTable.find(Number(name)))
			.filter((row) => row !== undefined);
	},
	environment: (pid) => (read(`/proc/${pid}/environ`) ?? "").split("\0").filter(Boolean),
	boot: () => read("/proc/sys/kernel/random/boot_id")?.trim(),
};

/** `ps` exits with 1 if no process matches. */
function ps(selection: readonly string[]): ProcessRow[] {
	let lines: string;
	try {
		lines = execFileSync("ps", [...selection, "-o", "pid=,pgid=,stat=,lstart="], {
			encoding: "utf8",
			env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" },
			stdio: ["ignore", "pipe", "ignore"],
			maxBuffer: 64 * 1024 * 1024,
		});
	} catch (error) {
		if ((error as { status?: number | null }).status === 1) return [];
		throw error;
	}
	return lines
		.split("\n")
		.filter((line) => line.trim() !== "")
		.map((line) => {
			const [pid, pgid, state, ...started] = line.trim().split(/\s+/);
			return {
				pid: Number(pid),
				pgid: Number(pgid),
				startTime: started.join(" "),
				ended: state?.startsWith("Z") ?? false,
			};
		});
}

/** `startTime` is a UTC date, exact to the second. */
export const psTable: ProcessTable = {
	find: (pid) => ps(["-p", String(pid)])[0],
	all: () => ps(["-A"]),
	environment: () => [],
	boot: () => undefined,
};

export const processTable: ProcessTable = process.platform === "linux" ? procTable : psTable;

const COUNTER = /^oom_kill (\d+)$/m;

/** Processes that the kernel has killed for lack of memory, in any cgroup. 0 if unknown. */
export function oomKills(): number {
	try {
		return Number((read("/proc/vmstat") ?? "").match(COUNTER)?.[1] ?? 0);
	} catch {
		return 0;
	}
}
