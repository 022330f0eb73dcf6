/** What `nvidia-smi` says of the first GPU, several times a second. */
import { execFile, execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
const CSV = "--format=csv,noheader,nounits";

export interface Reading {
	at: number;
	usedMib: number;
	/** MiB by process. */
	processes: Map<number, number>;
}

export interface Gpu {
	name: string;
	driver: string;
	sizeMib: number;
}

export function firstGpu(): Gpu {
	const text = execFileSync("nvidia-smi", ["--query-gpu=name,driver_version,memory.total", CSV, "-i", "0"], {
		encoding: "utf8",
	});
	const [name = "", driver = "", size = ""] = text.trim().split(", ");
	return { name, driver, sizeMib: Number(size) };
}

async function read(): Promise<Reading> {
	const [gpu, apps] = await Promise.all([
		run("nvidia-smi", ["--query-gpu=memory.used", CSV, "-i", "0"]),
		run("nvidia-smi", ["--query-compute-apps=pid,used_memory", CSV, "-i", "0"]),
	]);
	const lines = apps.stdout.split("\n").filter((line) => line.includes(","));
	const processes = new Map(lines.map((line) => line.split(", ").map(Number) as [number, number]));
	return { at: Date.now(), usedMib: Number(gpu.stdout), processes };
}

/** Reads until `stop` is called, which returns all readings. */
export function readings(everyMs = 200): { stop: () => Promise<Reading[]> } {
	const all: Reading[] = [];
	let isStopped = false;
	const done = (async () => {
		while (!isStopped) {
			all.push(await read());
			await sleep(everyMs);
		}
	})();
	return {
		async stop() {
			isStopped = true;
			await done;
			return all;
		},
	};
}
