/** Processor time of processes and of named threads, µs (Linux: 100 ticks a second, user and system). */
import { readdirSync, readFileSync } from "node:fs";

export const TICK_MICROS = 10_000;

/** Fields of `stat` from the state on: parent 1, user 11, system 12, the same of ended children 13, 14. */
function fields(path: string): { name: string; at: (index: number) => number } {
	const text = readFileSync(path, "utf8");
	const end = text.lastIndexOf(")");
	const rest = text.slice(end + 2).split(" ");
	return { name: text.slice(text.indexOf("(") + 1, end), at: (index) => Number(rest[index]) };
}

export function processMicros(pid: number): number {
	const { at } = fields(`/proc/${pid}/stat`);
	return (at(11) + at(12)) * TICK_MICROS;
}

/** A process with its children, those that ended included. */
export function familyMicros(pid: number): number {
	const { at } = fields(`/proc/${pid}/stat`);
	const own = processMicros(pid) + (at(13) + at(14)) * TICK_MICROS;
	return childrenOf(pid).reduce((sum, { user, system }) => sum + (user + system) * TICK_MICROS, own);
}

export interface Ticks {
	user: number;
	system: number;
}

/** Of the children that run now. */
export function childrenOf(pid: number): ({ id: number } & Ticks)[] {
	return readdirSync("/proc").flatMap((name) => {
		try {
			const { at } = fields(`/proc/${Number(name)}/stat`);
			return at(1) === pid ? [{ id: Number(name), user: at(11), system: at(12) }] : [];
		} catch {
			// No process, or it has ended.
			return [];
		}
	});
}

/** The children of a process that have ended. */
export function endedChildren(pid: number): Ticks {
	const { at } = fields(`/proc/${pid}/stat`);
	return { user: at(13), system: at(14) };
}

/** Of the threads that run now. */
export function threadsOf(pid: number): ({ id: number; name: string } & Ticks)[] {
	return readdirSync(`/proc/${pid}/task`).map((id) => {
		const { name, at } = fields(`/proc/${pid}/task/${id}/stat`);
		return { id: Number(id), name, user: at(11), system: at(12) };
	});
}

export interface Thread {
	micros: number;
	/** Bytes of its `write` calls, sockets included. */
	written: number;
}

/** The thread of this name; Node names a worker's thread after its `name`. */
export function threadOf(pid: number, name: string): Thread {
	for (const id of readdirSync(`/proc/${pid}/task`)) {
		const path = `/proc/${pid}/task/${id}`;
		const found = fields(`${path}/stat`);
		if (found.name !== name) continue;
		const written = Number(/^wchar: (\d+)/m.exec(readFileSync(`${path}/io`, "utf8"))?.[1]);
		return { micros: (found.at(11) + found.at(12)) * TICK_MICROS, written };
	}
	throw new Error(`process ${pid} has no thread ${name}`);
}
