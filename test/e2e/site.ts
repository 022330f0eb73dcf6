/**
 * What the end-to-end tests share: a folder with its services and workers as processes, all ended
 * when the test ends, and what their workers wrote down.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../support/until.ts";
import { fileURLToPath } from "node:url";
import { expect, type TestContext } from "vitest";
import { call, folder, type Folder, type ServiceProcess, spawnService } from "../support/service.ts";

/** The command of a worker that keeps a diary. */
export const WORKER = [process.execPath, fileURLToPath(new URL("workers/diary.ts", import.meta.url))] as const;

/** The command of a worker with RunPod's wire, without the worker kit. */
export const WIRE_WORKER = [
	process.execPath,
	fileURLToPath(new URL("workers/runpod-wire.ts", import.meta.url)),
] as const;

/** How a run of the diary worker behaves; all members may be absent. */
export interface Act {
	/** Given back in the output. */
	n?: number;
	/** Sleeps so long, ms. */
	ms?: number;
	/** Blocks the event loop so long, ms. */
	block?: number;
	/** Runs until {@link Site.allow} was called with this word. */
	until?: string;
	/** Characters of padding in the output. */
	size?: number;
	/** Throws an error with this message. */
	fail?: string;
}

/** One line of the diary. */
export interface Note {
	what: "up" | "run" | "stopped" | "end" | "down";
	id: string;
	worker: string;
	pid: number;
}

/** A place for one test. */
export interface Site {
	folder: Folder;
	/** Settings of an endpoint whose diary workers the service launches. */
	launched(settings?: object): object;
	/** Starts the service; again on the port of the last one unless `port` says otherwise. */
	serve(q?: {
		endpoints?: Record<string, object>;
		port?: number;
		args?: readonly string[];
		env?: Record<string, string>;
		/** Further members of `sluice.yaml`. */
		file?: object;
	}): Promise<ServiceProcess>;
	/** Starts a diary worker as an operator would, and waits until it is up. */
	attach(service: { url: string }, endpoint: string, env?: Record<string, string>): Promise<ChildProcess>;
	/** Starts any process with this environment; it ends with the test. */
	spawn(command: readonly string[], env: Record<string, string>): ChildProcess;
	notes(): Note[];
	/** The runs of a job so far. */
	runs(id: string): Note[];
	/** Lets runs with `until: word` end. */
	allow(word: string): void;
}

/** A site that is cleared, with all its processes, when the test of this context ends. */
export function site({ onTestFinished }: Pick<TestContext, "onTestFinished">): Site {
	const place = folder();
	const diary = join(place.path, "diary");
	const children: ChildProcess[] = [];
	let endpoints: Record<string, object> = {};
	/** A worker of this site has one of these in its environment: the path of its diary, or the address of a service. */
	const marks = [diary];
	let port = 0;

	function notes(): Note[] {
		if (!existsSync(diary)) return [];
		return readFileSync(diary, "utf8")
			.split("\n")
			.filter((line) => line !== "")
			.map((line) => JSON.parse(line) as Note);
	}

	onTestFinished(() => {
		for (const child of children) if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
		for (const pid of runningPids() ?? new Set(notes().map((each) => each.pid))) if (isOurs(pid, marks)) kill(pid);
		place.remove();
	});

	return {
		folder: place,
		notes,
		runs: (id) => notes().filter((each) => each.what === "run" && each.id === id),
		allow: (word) => writeFileSync(join(place.path, word), ""),
		launched: (settings = {}) => ({
			launcher: { type: "process", command: WORKER },
			env: { DIARY: diary },
			...settings,
		}),
		async serve(q = {}) {
			endpoints = q.endpoints ?? endpoints;
			const service = await spawnService({
				in: place,
				endpoints,
				port: q.port ?? port,
				args: q.args ?? ["--drain-timeout", "0"],
				...(q.env ? { env: q.env } : {}),
				...(q.file ? { file: q.file } : {}),
			});
			children.push(service.child);
			port = Number(new URL(service.url).port);
			marks.push(`:${port}/worker/`);
			return service;
		},
		spawn(command, env) {
			const [file = "", ...args] = command;
			const child = spawn(file, args, {
				cwd: place.path,
				env: { ...process.env, ...env },
				stdio: "ignore",
			});
			children.push(child);
			return child;
		},
		async attach({ url }, endpoint, env = {}) {
			const answer = await call(url, `/v1/endpoints/${endpoint}/worker-env?url=${encodeURIComponent(url)}`, {
				method: "POST",
			});
			const child = this.spawn(WORKER, {
				...(answer.json as { env: Record<string, string> }).env,
				DIARY: diary,
				...env,
			});
			await until(`a worker of ${endpoint} to come up`, () =>
				notes().some((each) => each.what === "up" && each.pid === child.pid),
			);
			return child;
		},
	};
}

/** Of all processes, because a worker that had no job yet has written nothing down. Undefined where it is unknown. */
function runningPids(): number[] | undefined {
	if (process.platform !== "linux") return undefined;
	return readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

/** Whether the process runs and its environment has one of the marks; where that is unknown, whether it runs. */
function isOurs(pid: number, marks: readonly string[]): boolean {
	if (!isAlive(pid)) return false;
	if (process.platform !== "linux") return true;
	try {
		const environment = readFileSync(`/proc/${pid}/environ`, "utf8");
		return marks.some((mark) => environment.includes(mark));
	} catch {
		return false;
	}
}

function kill(pid: number): void {
	try {
		process.kill(pid, "SIGKILL");
	} catch {
		// It ended meanwhile.
	}
}

/** Whether the process exists and has not ended. */
export function isAlive(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return process.platform !== "linux" || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
	} catch {
		return false;
	}
}

/** Submits a job by `/run`; answers its id. */
export async function run({ url }: { url: string }, endpoint: string, input: Act): Promise<string> {
	const { status, json, text } = await call(url, `/v2/${endpoint}/run`, { body: { input } });
	expect(status, text).toBe(200);
	return json.id as string;
}

/** The job object. */
export async function jobAt({ url }: { url: string }, endpoint: string, id: string): Promise<any> {
	const { status, json, text } = await call(url, `/v2/${endpoint}/status/${id}`);
	expect(status, text).toBe(200);
	return json;
}

/** The job object once it is final. A failure says what the endpoint and its workers do meanwhile. */
export async function ended(service: { url: string }, endpoint: string, id: string, ms?: number): Promise<any> {
	let job: any;
	const isFinal = async (): Promise<boolean> => {
		job = await jobAt(service, endpoint, id);
		return ["COMPLETED", "FAILED", "TIMED_OUT", "CANCELLED"].includes(job.status);
	};
	try {
		await until(`job ${id} of ${endpoint} to end`, isFinal, ms);
		return job;
	} catch (error) {
		const { reason } = (await call(service.url, `/v1/endpoints/${endpoint}`)).json;
		const { workers } = (await call(service.url, `/v1/endpoints/${endpoint}/workers`)).json;
		const now = JSON.stringify({ status: job?.status, reason, workers });
		throw new Error(`${(error as Error).message}; now ${now}`, { cause: error });
	}
}

/** The run of a job that began after `before` others. */
export function started(place: Site, id: string, before = 0): Promise<Note> {
	return until(`run ${before + 1} of job ${id}`, () => place.runs(id)[before]);
}
