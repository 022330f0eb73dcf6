/**
 * Workers that hold memory of a real NVIDIA GPU: three endpoints whose parts do not fit together, OpenAI's client
 * through swaps of whole GPUs by stop and start and by sleep, and a worker that takes more than its part. Prints what
 * Sluice promised beside what `nvidia-smi` saw. `node bench/cuda/cuda.ts [jobs] [model in GB] [--model torch] [--rounds
 * 6] [--steps parts,greedy]`, after `npm run build`; about five minutes. Needs Python 3, driver 570 or newer, and as
 * much memory of the machine as of the GPU; with `--model torch` PyTorch.
 */
import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import OpenAI from "openai";
import { machine } from "../machine.ts";
import { end, KEY, startService } from "../processes.ts";
import { firstGpu, type Reading, readings } from "./gpu-readings.ts";

const gpu = firstGpu();
const SIZE_GB = (gpu.sizeMib * 2 ** 20) / 1e9;
const STEPS = ["parts", "stopAndStart", "sleepByCheckpoint", "sleepByTheWorker", "moreThanItsPart"];
const { values, positionals } = parseArgs({
	options: {
		model: { type: "string", default: "driver" },
		rounds: { type: "string", default: "6" },
		steps: { type: "string", default: STEPS.join() },
	},
	allowPositionals: true,
});
const [jobs = 90, holdGb = Math.floor(SIZE_GB / 2)] = positionals.map(Number);
const rounds = Number(values.rounds);
const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

interface Note {
	at: number;
	event: "begin" | "imported" | "loaded" | "take" | "done" | "asleep" | "awake" | "end" | "failed";
	worker: string;
	job?: string;
	ms?: number;
}

const folder = mkdtempSync(join(tmpdir(), "sluice-cuda-"));
const notes = join(folder, "notes");
/** What `torch_model.py` reads, so often that it fills the model: 1 GiB. */
const weights = join(folder, "weights");
if (values.model === "torch") {
	const piece = Buffer.alloc(2 ** 28, 7);
	for (let count = 0; count < 4; count += 1) appendFileSync(weights, piece);
}
const read = (): Note[] =>
	(existsSync(notes) ? readFileSync(notes, "utf8") : "")
		.split("\n")
		.filter((line) => line !== "")
		.map((line) => JSON.parse(line) as Note);

const service = await startService(folder, { env: { SLUICE_GPUS: "1" } });

async function ask(path: string, method = "GET", body?: object): Promise<any> {
	const headers = { authorization: `Bearer ${KEY}` };
	const answer = await fetch(service.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
	if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${await answer.text()}`);
	return await answer.json();
}

async function create(id: string, holdGb: number, settings: object): Promise<void> {
	const launcher = { type: "process", command: ["python3", file("worker.py")] };
	const env = { NOTES: notes, HOLD_GB: String(holdGb), MODEL: `${values.model}_model`, WEIGHTS: weights };
	await ask("/v1/endpoints", "POST", { id, launcher, env, limits: "off", workersMax: 1, ...settings });
}

async function remove(ids: readonly string[]): Promise<void> {
	for (const id of ids) await ask(`/v1/endpoints/${id}`, "DELETE");
	while ((await ask("/v1/gpus")).gpus[0].holders.length > 0) await sleep(200);
}

const mostOf = (all: readonly Reading[], of: (reading: Reading) => number): number => Math.max(...all.map(of));

async function until(id: string, job: string): Promise<string> {
	for (;;) {
		const { status } = await ask(`/v2/${id}/status/${job}`);
		if (status !== "IN_QUEUE" && status !== "IN_PROGRESS") return status;
		await sleep(200);
	}
}

/** Two of three workers fit. */
async function parts(): Promise<object> {
	const part = Math.floor(((SIZE_GB - 0.5) / 2.2) * 10) / 10;
	const ids = ["one", "two", "three"];
	for (const id of ids) await create(id, part, { gpuMemoryGb: part, idleTimeout: 60 });
	const watch = readings();
	const began = Date.now();
	const submitted: { id: string; job: string; at: number }[] = [];
	for (let count = 0; count < jobs; count += 1) {
		const id = ids[count % 9 < 4 ? 0 : count % 9 < 7 ? 1 : 2]!;
		submitted.push({ id, at: Date.now(), job: (await ask(`/v2/${id}/run`, "POST", { input: { ms: 200 } })).id });
		if (count % 15 === 14) await sleep(6000);
	}
	const states: string[] = [];
	for (const { id, job } of submitted) states.push(await until(id, job));
	const seen = await watch.stop();
	const { gpus } = await ask("/v1/gpus");
	const env = { ...process.env, SLUICE_URL: service.url, SLUICE_API_KEY: KEY };
	const printed = execFileSync(process.execPath, [file("../../bin/sluice.js"), "gpus", "list"], { env }).toString();
	await remove(ids);
	const all = read();
	const takes = all.filter(({ event }) => event === "take");
	return {
		partGb: part,
		jobs,
		completed: states.filter((state) => state === "COMPLETED").length,
		runTwice: takes.length - new Set(takes.map(({ job }) => job)).size,
		failedAllocations: all.filter(({ event }) => event === "failed").length,
		workerStarts: all.filter(({ event }) => event === "begin").length,
		mostWorkersByNvidiaSmi: mostOf(seen, ({ processes }) => processes.size),
		mostUsedMib: mostOf(seen, ({ usedMib }) => usedMib),
		mostUsedByOneMib: mostOf(seen, ({ processes }) => Math.max(0, ...processes.values())),
		longestWaitS: Math.round(
			Math.max(...takes.map(({ job, at }) => at - submitted.find((each) => each.job === job)!.at)) / 1000,
		),
		seconds: Math.round((Date.now() - began) / 1000),
		sluiceGpus: gpus,
		printed,
		workers: timesOf(all),
	};
}

/** Alternating questions to two models of which one fits, by OpenAI's client with its own timeouts. */
async function swaps(settings: object): Promise<object> {
	const ids = ["chat-a", "chat-b"];
	for (const id of ids) await create(id, holdGb, { gpusPerWorker: 1, idleTimeout: 300, ...settings });
	const watch = readings();
	const times: number[] = [];
	const before = read().length;
	for (let round = 0; round < rounds; round += 1) {
		const id = ids[round % 2]!;
		// A worker that has just come makes room after its minimum stay only.
		if (round > 0) await sleep(11_000);
		const client = new OpenAI({ apiKey: KEY, baseURL: `${service.url}/v2/${id}/openai/v1`, maxRetries: 0 });
		const began = performance.now();
		await client.chat.completions.create({ model: "bench", messages: [{ role: "user", content: "Hello" }] });
		times.push(Math.round(performance.now() - began));
	}
	const seen = await watch.stop();
	await remove(ids);
	return {
		modelGb: holdGb,
		firstMs: times[0],
		startMs: times[1],
		swapMs: times.slice(2),
		mostUsedMib: mostOf(seen, ({ usedMib }) => usedMib),
		workers: timesOf(read().slice(before)),
	};
}

/** What took workers how long, by their own clocks, ms. */
function timesOf(all: readonly Note[]): Record<string, number[]> {
	const timed = Object.groupBy(
		all.filter(({ ms }) => ms !== undefined),
		({ event }) => event,
	);
	return Object.fromEntries(Object.entries(timed).map(([event, each]) => [event, each.map(({ ms }) => ms!)]));
}

/** Promised 10 GB, takes 20. */
async function greedy(): Promise<object> {
	const worker = async () => (await ask("/v1/endpoints/greedy/workers")).workers[0];
	await create("greedy", 20, { gpuMemoryGb: 10, idleTimeout: 120 });
	await ask("/v2/greedy/runsync", "POST", { input: {} });
	let found = await worker();
	for (let tries = 0; tries < 100 && !found?.reason; tries += 1, found = await worker()) await sleep(200);
	const { reason } = found;
	await ask("/v1/endpoints/greedy", "PATCH", { gpuMemoryEnforce: true });
	const first = found.id;
	for (let tries = 0; tries < 300 && found?.id === first; tries += 1, found = await worker()) await sleep(200);
	const isEnded = found?.id !== first;
	await remove(["greedy"]);
	return { reason, isEnded };
}

try {
	const result: Record<string, unknown> = { bench: "cuda", ...machine(), gpu };
	const step = async (name: string, run: () => Promise<object>): Promise<void> => {
		if (!values.steps.split(",").includes(name)) return;
		result[name] = await run().catch(async (error: unknown) => {
			const { endpoints } = await ask("/v1/endpoints");
			await remove(endpoints.map(({ id }: { id: string }) => id).filter((id: string) => id !== "noop"));
			return { failed: String(error), notes: read().slice(-5) };
		});
		process.stderr.write(`${name}: ${JSON.stringify(result[name])}\n`);
	};
	await step("parts", parts);
	await step("stopAndStart", () => swaps({}));
	const checkpoint = (action: string) => ["sh", "-c", `python3 ${file("checkpoint.py")} ${action} $SLUICE_WORKER_PID`];
	const sleeping = { command: checkpoint("sleep"), wakeCommand: checkpoint("wake"), timeoutMs: 60_000 };
	await step("sleepByCheckpoint", () => swaps({ sleep: sleeping }));
	const mark = `${notes}.$RUNPOD_POD_ID.asleep`;
	const offload = {
		command: ["sh", "-c", `kill -USR1 $SLUICE_WORKER_PID; until test -e ${mark}; do sleep 0.05; done`],
		wakeCommand: ["sh", "-c", `kill -USR2 $SLUICE_WORKER_PID; while test -e ${mark}; do sleep 0.05; done`],
		timeoutMs: 60_000,
	};
	await step("sleepByTheWorker", () => swaps({ sleep: offload }));
	await step("moreThanItsPart", greedy);
	process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
	await end(service.child, "SIGINT");
	rmSync(folder, { recursive: true, force: true });
}
