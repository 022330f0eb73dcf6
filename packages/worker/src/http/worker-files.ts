/** What the adapter and `sluice-http sleep`, which runs beside it, know of each other: two files of the worker. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface WorkerFiles {
	/** The server's port, where it was chosen at the start. Undefined if the worker has written none. */
	readPort(): number | undefined;
	writePort(port: number): void;
	isAsleep(): boolean;
	setAsleep(asleep: boolean): void;
	remove(): void;
}

/** `worker`: the id of the worker. `folder`: default that of temporary files. */
export function workerFiles(worker: string | undefined, folder = tmpdir()): WorkerFiles {
	const own = join(folder, `sluice-http-${(worker ?? "local").replace(/[^\w-]/g, "_")}`);
	const portFile = join(own, "port");
	const asleepFile = join(own, "asleep");
	const write = (path: string, text: string): void => {
		mkdirSync(own, { recursive: true, mode: 0o700 });
		writeFileSync(path, text);
	};
	return {
		readPort: () => (existsSync(portFile) ? Number(readFileSync(portFile, "utf8")) : undefined),
		writePort: (port) => write(portFile, `${port}`),
		isAsleep: () => existsSync(asleepFile),
		setAsleep: (asleep) => (asleep ? write(asleepFile, "") : rmSync(asleepFile, { force: true })),
		remove: () => rmSync(own, { recursive: true, force: true }),
	};
}
