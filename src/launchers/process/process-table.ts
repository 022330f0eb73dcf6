/**
 * The operating system's list of processes: `/proc` on Linux, `ps` elsewhere. Synchronous, so that a
 * pid is signalled in the same turn in which it was found.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** One process. `ended`: a zombie, whose parent has not read its exit yet. */
export interface ProcessRow {
	pid: number;
	/** Process group; equal to `pid` for the group's leader. */
	pgid: number;
	/** Start, in the system's own unit; with the pid it identifies one process of this boot. */
	startTime: number | string;
	ended: boolean;
}

/** Processes that end while they are read are left out. */
export interface ProcessTable {
	find(pid: number): ProcessRow | undefined;
	all(): ProcessRow[];
	/** The `NAME=value` strings a process was started with; empty when they cannot be read. */
	environment(pid: number): string[];
	/** Identifies the current boot; absent where start times are dates. */
	boot(): string | undefined;
}

/** The text of a file under /proc; undefined when its process has ended or is another user's. */
function read(path: string): string | undefined {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return undefined;
	}
}

/** Reads a line of `/proc/<pid>/stat`. The name in brackets may contain spaces and brackets. */
function parseStat(pid: number, stat: string): ProcessRow {
	const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
	return {
		pid,
		pgid: Number(fields[2]),
		startTime: Number(fields[19]),
		ended: fields[0] === "Z" || fields[0] === "X",
	};
}

/** Linux. `startTime` is field 22 of `/proc/<pid>/stat`: clock ticks since boot. */
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

/** Rows of `ps`, which exits with 1 when no process matches. */
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

/** Other systems. `startTime` is a date in UTC, exact to the second. */
export const psTable: ProcessTable = {
	find: (pid) => ps(["-p", String(pid)])[0],
	all: () => ps(["-A"]),
	environment: () => [],
	boot: () => undefined,
};

/** The table of the system this runs on. */
export const processTable: ProcessTable = process.platform === "linux" ? procTable : psTable;
