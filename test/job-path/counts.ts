/** What a service does for one no-op `/runsync` of an external worker. Counts, never times: machines differ. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const KEY = "test-key-0123456789-0123456789";

/** Between two readings. */
export interface Counts {
	/** Files of `src` of which a function was called in the main thread. */
	files: readonly string[];
	/** Turns of the event loop of the main thread. */
	turns: number;
	/** Commits of jobs: with SQLite each is a flush. */
	commits: number;
}

/** Of one job. */
export interface Job extends Counts {
	/** System calls of all threads by name, on average. Absent without `strace`. */
	calls: Readonly<Record<string, number>> | undefined;
}

/** Jobs before the first one that is counted: caches are filled, connections open. */
const WARM_UP = 5;
/** Jobs that are counted at least, and traced. */
const JOBS = 20;

/** System calls that a job causes. Others wait, or are the engine's own. */
const CALLS =
	"openat,statx,fsync,fdatasync,pwrite64,pread64,ftruncate,unlink,rename,mkdir,clone3,execve,connect,socket";

/** The files of all jobs that were counted, and the least turns and commits: a busy machine splits what it delivers. */
export async function countsOfJob(q: {
	modules: "none" | "all";
	store: string;
	cwd: string;
	/** Most jobs that are counted. Fewer, but at least `JOBS`, as soon as the least turns are at most `turns`. */
	most: number;
	turns: number;
	strace: boolean;
}): Promise<Job> {
	const child = spawn(process.execPath, [fileURLToPath(new URL("service.ts", import.meta.url)), q.modules, q.store], {
		cwd: q.cwd,
		env: { PATH: process.env["PATH"] },
		stdio: ["pipe", "pipe", "inherit"],
	});
	try {
		const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
		const url = (await lines.next()).value as string;
		const read = async (): Promise<Counts> => {
			child.stdin.write("\n");
			return JSON.parse((await lines.next()).value!);
		};
		const job = await jobsAt(url);
		for (let number = 0; number < WARM_UP; number += 1) await job();
		const each: Counts[] = [];
		const isDone = (): boolean => each.length >= JOBS && each.some(({ turns }) => turns <= q.turns);
		while (each.length < q.most && !isDone()) {
			await read();
			await job();
			each.push(await read());
		}
		return {
			files: [...new Set(each.flatMap(({ files }) => files))].toSorted(),
			turns: Math.min(...each.map(({ turns }) => turns)),
			commits: Math.min(...each.map(({ commits }) => commits)),
			calls: q.strace ? await callsOf(child, job) : undefined,
		};
	} finally {
		const exited = once(child, "exit");
		child.kill("SIGKILL");
		await exited;
	}
}

/** Runs a job at a service: a worker that waits gets it and returns it. */
async function jobsAt(url: string): Promise<() => Promise<void>> {
	const call = async (path: string, key: string, body?: object): Promise<any> => {
		const response = await fetch(url + path, {
			headers: { authorization: key, "content-type": "application/json" },
			...(body && { method: "POST", body: JSON.stringify(body) }),
		});
		const text = await response.text();
		if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
		return text === "" ? undefined : JSON.parse(text);
	};
	const { env } = await call(`/v1/endpoints/noop/worker-env?url=${url}`, `Bearer ${KEY}`, {});
	const worker = async (): Promise<void> => {
		const { id } = await call(
			`/worker/noop/job-take/${env.RUNPOD_POD_ID}?gpu=none&job_in_progress=0`,
			env.RUNPOD_AI_API_KEY,
		);
		await call(`/worker/noop/job-done/${env.RUNPOD_POD_ID}/${id}?gpu=none&isStream=false`, env.RUNPOD_AI_API_KEY, {
			output: null,
		});
	};
	return async () => {
		const [, { status }] = await Promise.all([worker(), call("/v2/noop/runsync", `Bearer ${KEY}`, { input: {} })]);
		if (status !== "COMPLETED") throw new Error(`The job is ${status}.`);
	};
}

/** Calls of the system per job, by name. */
async function callsOf(child: ChildProcess, job: () => Promise<void>): Promise<Record<string, number>> {
	const strace = spawn("strace", ["-f", "-c", "-U", "calls,name", "-e", `trace=${CALLS}`, "-p", String(child.pid)], {
		stdio: ["ignore", "ignore", "pipe"],
	});
	const exited = once(strace, "exit");
	let said = "";
	await new Promise<void>((resolve, reject) => {
		strace.stderr.on("data", (piece: Buffer) => {
			said += piece.toString();
			if (said.includes("attached")) resolve();
		});
		void exited.then(() => reject(new Error(`strace ended: ${said}`)));
	});
	for (let number = 0; number < JOBS; number += 1) await job();
	strace.kill("SIGINT");
	await exited;
	return Object.fromEntries(
		[...said.matchAll(/^\s*(\d+) (?!total)(\w+)$/gm)].map(([, count, name]) => [name!, Number(count) / JOBS]),
	);
}
