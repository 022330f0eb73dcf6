/** What the adapter and `sluice-http sleep`, which runs beside it, know of each other: two files of the worker. */
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface WorkerFiles {
	/** The server's port, where it was chosen at the start. Undefined if the worker has written none. */
	readPort(): number | undefined;
	writePort(port: number): void;
	isAsleep(): boolean;
	setAsleep(asleep: boolean): void;
	/** Removes both. */
	remove(): void;
}

/**
 * `worker`: the id of the worker. `folder`: default that of temporary files, where any user of the machine may have
 * made a folder of the same name. Writing and removing throw for one that is not this user's alone; reading finds
 * nothing there.
 */
export function workerFiles(worker: string | undefined, folder = tmpdir()): WorkerFiles {
	const user = process.getuid?.() ?? 0;
	const own = join(folder, `sluice-http-${user}-${(worker ?? "local").replace(/[^\w-]/g, "_")}`);
	const portFile = join(own, "port");
	const asleepFile = join(own, "asleep");
	const state = (): "ours" | "missing" | "not ours" => {
		const found = lstatSync(own, { throwIfNoEntry: false });
		if (!found) return "missing";
		const isOurs = found.isDirectory() && found.uid === user && (found.mode & 0o077) === 0;
		// Windows has neither users nor modes of this kind.
		return isOurs || process.platform === "win32" ? "ours" : "not ours";
	};
	const check = (): void => {
		if (state() === "not ours")
			throw new Error(`${own} must be a folder of user ${user} without access for others. Remove it.`);
	};
	const write = (path: string, text: string): void => {
		mkdirSync(own, { recursive: true, mode: 0o700 });
		check();
		rmSync(path, { force: true });
		writeFileSync(path, text, { flag: "wx", mode: 0o600 });
	};
	const has = (path: string): boolean => state() === "ours" && existsSync(path);
	return {
		readPort: () => (has(portFile) ? Number(readFileSync(portFile, "utf8")) : undefined),
		writePort: (port) => write(portFile, `${port}`),
		isAsleep: () => has(asleepFile),
		setAsleep(asleep) {
			if (asleep) return write(asleepFile, "");
			check();
			rmSync(asleepFile, { force: true });
		},
		remove() {
			check();
			rmSync(own, { recursive: true, force: true });
		},
	};
}
