/**
 * Two HTTP servers that know nothing of Sluice take turns on one real NVIDIA GPU, by their presets alone: one with the
 * routes of vLLM, one with those of ComfyUI, each with a model that leaves no room for the other. Swaps one at a time,
 * then bursts of both at once. `node bench/cuda/http-servers.ts [jobs] [model in GB] [--rounds 6]`, after `npm run
 * build`; about five minutes. Needs Python 3 with PyTorch, and memory of the machine for one model.
 */
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import OpenAI from "openai";
import { machine, median } from "../machine.ts";
import { end, KEY, startService } from "../processes.ts";
import { firstGpu, readings } from "./gpu-readings.ts";
import type { Turns } from "./turns-chart.ts";

const gpu = firstGpu();
/** More than half of the GPU, so that two models do not fit. */
const HOLD_GB = Math.floor(((gpu.sizeMib * 2 ** 20) / 1e9) * 0.52);
const BURST = 5;
const { values, positionals } = parseArgs({
	options: { rounds: { type: "string", default: "6" } },
	allowPositionals: true,
});
const [jobs = 60, holdGb = HOLD_GB] = positionals.map(Number);
const rounds = Number(values.rounds);

interface Note {
	at: number;
	event: "begin" | "loaded" | "pinned" | "asleep" | "awake" | "failed";
	server: "vllm" | "comfyui";
	ms?: number;
}

const folder = mkdtempSync(join(tmpdir(), "sluice-cuda-"));
const notes = join(folder, "notes");
appendFileSync(notes, "");
/** What `torch_model.py` reads, so often that it fills the model: 1 GiB. */
const weights = join(folder, "weights");
const piece = Buffer.alloc(2 ** 28, 7);
for (let count = 0; count < 4; count += 1) appendFileSync(weights, piece);

const service = await startService(folder, { env: { SLUICE_GPUS: "1" } });

async function ask(path: string, method = "GET", body?: object): Promise<any> {
	const headers = { authorization: `Bearer ${KEY}` };
	const answer = await fetch(service.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
	if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${await answer.text()}`);
	return await answer.json();
}

async function create(id: string, preset: Note["server"], settings: object): Promise<void> {
	const program = fileURLToPath(new URL("http_model.py", import.meta.url));
	await ask("/v1/endpoints", "POST", {
		id,
		gpusPerWorker: 1,
		workersMax: 1,
		idleTimeout: 300,
		initTimeoutMs: 300_000,
		limits: "off",
		http: { preset, port: 0 },
		launcher: { type: "process", command: ["python3", program, preset, "{port}"] },
		env: { NOTES: notes, HOLD_GB: String(holdGb), WEIGHTS: weights },
		sleep: { timeoutMs: 120_000 },
		...settings,
	});
}

const client = new OpenAI({ apiKey: KEY, baseURL: `${service.url}/v2/chat/openai/v1`, maxRetries: 0 });

/** The text of a chat that streams: the numbers from 0 to 19. */
async function chat(): Promise<boolean> {
	const messages = [{ role: "user" as const, content: "Count." }];
	const stream = await client.chat.completions.create({ model: "bench", messages, stream: true });
	let text = "";
	for await (const { choices } of stream) text += choices[0]?.delta.content ?? "";
	return text === Array.from({ length: 20 }, (_, count) => `${count} `).join("");
}

async function picture(): Promise<boolean> {
	const { id } = await ask("/v2/pictures/run", "POST", { input: { workflow: { "9": { class_type: "SaveImage" } } } });
	for (;;) {
		const { status, output } = await ask(`/v2/pictures/status/${id}`);
		if (status === "COMPLETED") return JSON.stringify(output).includes("image/png");
		if (status !== "IN_QUEUE" && status !== "IN_PROGRESS") {
			process.stderr.write(`a picture ended ${status}\n`);
			return false;
		}
		await sleep(50);
	}
}

/** What the chart of the burst is drawn from, times in s since it began. */
const turns: Turns = { jobs: [], spans: [] };

async function inBurst(server: string, began: number, run: () => Promise<boolean>): ReturnType<typeof timed> {
	const from = (Date.now() - began) / 1000;
	const done = await timed(run);
	turns.jobs.push({ server, from, to: from + done.ms / 1000 });
	return done;
}

async function timed(run: () => Promise<boolean>): Promise<{ ms: number; isRight: boolean }> {
	const began = performance.now();
	const isRight = await run().catch((error: unknown) => {
		process.stderr.write(`${String(error)}\n`);
		return false;
	});
	return { ms: Math.round(performance.now() - began), isRight };
}

try {
	await create("chat", "vllm", { http: { preset: "vllm", port: 0, concurrency: 8 } });
	await create("pictures", "comfyui", {});
	const watch = readings();
	const swaps: Record<string, { ms: number; isRight: boolean }[]> = { chat: [], pictures: [] };
	for (let round = 0; round < rounds; round += 1) {
		for (const [id, run] of [["chat", chat] as const, ["pictures", picture] as const]) {
			// A worker that has just come makes room after its minimum stay only.
			if (swaps["chat"]!.length > 0) await sleep(11_000);
			swaps[id]!.push(await timed(run));
			process.stderr.write(`${id}: ${JSON.stringify(swaps[id]!.at(-1))}\n`);
		}
	}
	const warm: Record<string, number> = {};
	for (const [id, run] of [["chat", chat] as const, ["pictures", picture] as const]) {
		await timed(run);
		warm[id] = (await timed(run)).ms;
	}
	const began = Date.now();
	const both: Promise<{ ms: number; isRight: boolean }>[] = [];
	while (both.length < jobs) {
		for (let count = 0; count < BURST; count += 1)
			both.push(inBurst("chat", began, chat), inBurst("pictures", began, picture));
		await sleep(5000);
	}
	const burst = await Promise.all(both);
	const burstS = Math.round((Date.now() - began) / 1000);
	const [{ history }] = (await ask("/v1/gpus?history=true")).gpus;
	const inS = (time: string): number => (Date.parse(time) - began) / 1000;
	for (const { endpoint, state, from, to } of history)
		if (inS(to) > 0) turns.spans.push({ server: endpoint, state, from: inS(from), to: inS(to) });
	const seen = await watch.stop();
	const all = readFileSync(notes, "utf8")
		.split("\n")
		.filter((line) => line !== "")
		.map((line) => JSON.parse(line) as Note);
	const times = (server: Note["server"], event: Note["event"]) =>
		all.filter((each) => each.server === server && each.event === event).map(({ ms }) => ms);
	const result = {
		bench: "cuda-http-servers",
		...machine(),
		gpu,
		modelGb: holdGb,
		swaps,
		warm,
		burst: {
			jobs: burst.length,
			right: burst.filter(({ isRight }) => isRight).length,
			medianMs: median(burst.map(({ ms }) => ms)),
			longestMs: Math.max(...burst.map(({ ms }) => ms)),
			seconds: burstS,
		},
		turns,
		servers: Object.fromEntries(
			(["vllm", "comfyui"] as const).map((server) => [
				server,
				Object.fromEntries(
					(["begin", "loaded", "pinned", "asleep", "awake"] as const).map((event) => [event, times(server, event)]),
				),
			]),
		),
		failures: all.filter(({ event }) => event === "failed"),
		mostUsedMib: Math.max(...seen.map(({ usedMib }) => usedMib)),
		mostServersAboveContext: Math.max(
			...seen.map(({ processes }) => [...processes.values()].filter((mib) => mib > 2048).length),
		),
	};
	process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
	await end(service.child, "SIGINT");
	rmSync(folder, { recursive: true, force: true });
}
