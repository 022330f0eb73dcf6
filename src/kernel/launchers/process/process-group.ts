/** Identifies and ends a worker's process group. */
import type { Clock } from "../../system/clock.ts";
import { type Handle, STARTED_BY } from "../launcher.ts";
import { endInGrace, KILL_TIMEOUT_MS } from "../watched-workers.ts";
import { processTable } from "./process-table.ts";

/** Worker id in the environment (protocol B.1). */
export const WORKER_VARIABLE = "RUNPOD_POD_ID";
export const SERVICE_VARIABLE = "SLUICE_SERVICE_ID";

const POLL_MS = 25;

/** One process, never a later one with the same pid (D34). */
export interface Identity {
	readonly pid: number;
	readonly startTime: number | string;
	/** The boot that `startTime` is relative to. */
	readonly boot?: string;
}

/** Includes zombies. Undefined if the process does not exist. */
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

/**
 * A process that has overwritten its environment, or runs as a user whose processes cannot be read, shows no mark. Its
 * handle then says who started it. One of an earlier version does not, and is believed: else an upgrade would leave the
 * worker running, with its GPUs, which nothing would end. No copy has such a handle of its original, since the only way
 * to a new identity (`renewIdentity`) removes the rows of workers with it.
 */
export function isStartedBy(
	serviceId: string,
	{ environment, handle }: { environment: readonly string[]; handle: Handle },
): boolean {
	const mark = environment.find((entry) => entry.startsWith(`${SERVICE_VARIABLE}=`));
	if (mark !== undefined) return mark === `${SERVICE_VARIABLE}=${serviceId}`;
	return handle[STARTED_BY] === undefined || handle[STARTED_BY] === serviceId;
}

/** Interval and count of the readings of an environment. */
const READ_MS = 25;
const READINGS = 5;

/**
 * Variables of a process at its start, as `NAME=value`. Empty if they cannot be read. A process that becomes another
 * program (`exec`) shows none for a moment, so an empty answer is asked for again, for 100 ms.
 */
export async function environmentAtStart(clock: Clock, { pid }: Identity): Promise<string[]> {
	for (let left = READINGS; ; left--) {
		const environment = processTable.environment(pid);
		if (environment.length > 0 || left === 1) return environment;
		await clock.sleep(READ_MS);
	}
}

export function isRunning({ pid, startTime }: Identity): boolean {
	const row = processTable.find(pid);
	return row !== undefined && !row.ended && row.startTime === startTime;
}

/**
 * Running processes of the group, even after the leader's end, because a group id is not reused while the group has
 * members.
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

/** Other running processes with all `marks` (`NAME=value`) in their environment. Linux only. */
function markedProcesses(marks: readonly string[]): number[] {
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
 * Negative targets are groups. False if it does not exist. Never signals init, all processes (-1) or the own group
 * (0).
 */
export function signal(target: number, name: NodeJS.Signals | 0): boolean {
	if (Math.abs(target) <= 1) return false;
	try {
		return process.kill(target, name);
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === "ESRCH") return false;
		// Some systems report this for a group of zombies.
		if (code === "EPERM") return true;
		throw error;
	}
}

/** Asks the system again for 10 s while it does not answer, since no answer proves no end. Then throws its error. */
export async function answered<T>(clock: Pick<Clock, "sleep">, ask: () => T): Promise<T> {
	for (let waited = 0; ; waited += POLL_MS) {
		try {
			return ask();
		} catch (error) {
			if (waited >= KILL_TIMEOUT_MS) throw error;
		}
		await clock.sleep(POLL_MS);
	}
}

/** False also where the system does not answer. */
export function hasEnded(leader: Identity, runs: (leader: Identity) => boolean): boolean {
	try {
		return !runs(leader);
	} catch {
		return false;
	}
}

/** Also kills groups led by them, until none are left. Throws after 10 s. */
export async function killAll({ clock, find }: { clock: Clock; find: () => number[] }): Promise<void> {
	for (let waited = 0; ; waited += POLL_MS) {
		const pids = await answered(clock, find);
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

export interface Ending {
	readonly leader: Identity;
	readonly marks: readonly string[];
	graceLeftMs: number;
}

/** SIGTERM to the group, SIGKILL after the grace. Throws if something survives that by 10 s. */
export async function endGroup(clock: Clock, ending: Ending): Promise<void> {
	const { leader, marks } = ending;
	await endInGrace(clock, ending, {
		terminate: () => answered(clock, () => groupRuns(leader) && signal(-leader.pid, "SIGTERM")),
		hasEnded: () => hasEnded(leader, groupRuns),
	});
	await killAll({
		clock,
		find: () => [...new Set([...groupOf(leader), ...markedProcesses(marks)])],
	});
}

/**
 * Processes with `SLUICE_SERVICE_ID=serviceId` that belong to no leader in `known`, neither by process group nor by
 * `RUNPOD_POD_ID`. Linux only.
 */
export function findStrays({ serviceId, known }: { serviceId: string; known: readonly number[] }): number[] {
	const groups = new Set(known);
	const workers = new Set([...groups].map(workerMark).filter((mark) => mark !== undefined));
	return markedProcesses([`${SERVICE_VARIABLE}=${serviceId}`]).filter((pid) => {
		const row = processTable.find(pid);
		const mark = workerMark(pid);
		return row !== undefined && !groups.has(row.pgid) && !(mark !== undefined && workers.has(mark));
	});
}

/** Kills a service's strays and returns their pids (D34). Throws if one survives SIGKILL by 10 s. */
export async function sweepStrays({
	clock,
	...which
}: { clock: Clock } & Parameters<typeof findStrays>[0]): Promise<number[]> {
	const ended = new Set<number>();
	await killAll({
		clock,
		find() {
			const strays = findStrays(which);
			for (const pid of strays) ended.add(pid);
			return strays;
		},
	});
	return [...ended];
}

function workerMark(pid: number): string | undefined {
	return processTable.environment(pid).find((entry) => entry.startsWith(`${WORKER_VARIABLE}=`));
}
