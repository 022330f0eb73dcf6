/** A worker as a process group: how it is identified and ended. */
import type { Clock } from "../../clock.ts";
import type { Handle } from "../launcher.ts";
import { endInGrace, KILL_TIMEOUT_MS } from "../watched-workers.ts";
import { processTable } from "./process-table.ts";

/** Worker id in the environment of its processes (protocol B.1). */
export const WORKER_VARIABLE = "RUNPOD_POD_ID";
/** Service identity in the environment of its processes. */
export const SERVICE_VARIABLE = "SLUICE_SERVICE_ID";

/** Interval of repeated kills, ms. */
const POLL_MS = 25;

/** One process, never a later one with the same pid (D34): this launcher's {@link Handle}. */
export interface Identity {
	readonly pid: number;
	readonly startTime: number | string;
	/** The boot that `startTime` is relative to. */
	readonly boot?: string;
}

/** Zombies included; undefined if the process does not exist. */
export function identify(pid: number): Identity | undefined {
	const row = processTable.find(pid);
	if (!row) return undefined;
	const boot = processTable.boot();
	return { pid, startTime: row.startTime, ...(boot !== undefined && { boot }) };
}

/** Undefined if the handle is of another launcher or boot. */
export function identityOf(handle: Handle): Identity | undefined {
	const { pid, startTime, boot } = handle;
	if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid <= 1 || startTime === undefined) return undefined;
	const current = processTable.boot();
	if (boot !== current) return undefined;
	return { pid, startTime, ...(current !== undefined && { boot: current }) };
}

export function isRunning({ pid, startTime }: Identity): boolean {
	const row = processTable.find(pid);
	return row !== undefined && !row.ended && row.startTime === startTime;
}

/**
 * Running processes in the leader's group, even after its end: a group id is not reused while the
 * group has members.
 */
export function groupOf(leader: Identity): number[] {
	const holder = processTable.find(leader.pid);
	const reused = holder !== undefined && holder.startTime !== leader.startTime;
	if (reused || !signal(-leader.pid, 0)) return [];
	return processTable
		.all()
		.filter((row) => row.pgid === leader.pid && !row.ended)
		.map((row) => row.pid);
}

export function groupRuns(leader: Identity): boolean {
	return isRunning(leader) || groupOf(leader).length > 0;
}

/**
 * Other running processes whose environment contains all `marks` (`NAME=value`); none without
 * marks. Linux only.
 */
export function markedProcesses(marks: readonly string[]): number[] {
	if (marks.length === 0 || process.platform !== "linux") return [];
	return processTable
		.all()
		.filter(({ pid, ended }) => {
			if (ended || pid === process.pid) return false;
			const environment = new Set(processTable.environment(pid));
			return marks.every((mark) => environment.has(mark));
		})
		.map((row) => row.pid);
}

/**
 * Negative targets are groups; false if it does not exist. Never signals init, all processes (-1)
 * or the own group (0).
 */
export function signal(target: number, name: NodeJS.Signals | 0): boolean {
	if (Math.abs(target) <= 1) return false;
	try {
		return process.kill(target, name);
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === "ESRCH") return false;
		// Some systems report this for a group of zombies. Otherwise the caller sees the processes
		// remain.
		if (code === "EPERM") return true;
		throw error;
	}
}

/** Kills what `find` returns, and groups led by it, until none are left. Throws after 10 s. */
export async function killAll({ clock, find }: { clock: Clock; find: () => number[] }): Promise<void> {
	for (let waited = 0; ; waited += POLL_MS) {
		const pids = find();
		if (pids.length === 0) return;
		if (waited >= KILL_TIMEOUT_MS) {
			throw new Error(`process ${pids.join(", ")} still runs ${KILL_TIMEOUT_MS / 1000} s after SIGKILL`);
		}
		for (const pid of pids) {
			signal(-pid, "SIGKILL");
			signal(pid, "SIGKILL");
		}
		await clock.sleep(POLL_MS);
	}
}

/** A stopping worker. Another stop may lower `graceLeftMs`, which counts down. */
export interface Ending {
	readonly leader: Identity;
	/** Variables that identify processes outside the group; may be empty. */
	readonly marks: readonly string[];
	graceLeftMs: number;
}

/**
 * SIGTERM to the group, SIGKILL after the grace. Resolves when nothing the worker started runs;
 * throws 10 s after SIGKILL.
 */
export async function endGroup(clock: Clock, ending: Ending): Promise<void> {
	const { leader, marks } = ending;
	await endInGrace(clock, ending, {
		terminate: () => groupRuns(leader) && signal(-leader.pid, "SIGTERM"),
		hasEnded: () => !groupRuns(leader),
	});
	await killAll({
		clock,
		find: () => [...new Set([...groupOf(leader), ...markedProcesses(marks)])],
	});
}
