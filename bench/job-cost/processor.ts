/** Processor time of processes and of named threads, µs (Linux: 100 ticks a second, user and system). */
import { readdirSync, readFileSync } from "node:fs";

const TICK_MICROS = 10_000;

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
	let micros = processMicros(pid) + (at(13) + at(14)) * TICK_MICROS;
	for (const other of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
		try {
			if (fields(`/proc/${other}/stat`).at(1) === pid) micros += processMicros(Number(other));
		} catch {
			// It has ended.
		}
	}
	return micros;
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
