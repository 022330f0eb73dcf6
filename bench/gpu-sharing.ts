/**
 * Three endpoints on two pretended GPUs of 24 GB: one takes parts of 14 GB, one of 8 GB, one a whole GPU; 300 jobs in
 * bursts of one endpoint after another and all at once. What the workers themselves note is compared with what is
 * promised. `node bench/gpu-sharing.ts [jobs] [seed]`, after `npm run build`; about five minutes.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { machine } from "./machine.ts";
import { end, KEY, startService } from "./processes.ts";

const [jobs = 300, seed = 1] = process.argv.slice(2).map(Number);
const GPUS = 2;
const SIZE_MIB = 23_034;
const SIZE_GB = 24.2;
const BURST = 25;

interface Note {
	at: number;
	event: "begin" | "end" | "take" | "done";
	worker: string;
	gpus: string;
	memoryGb?: string;
	job?: string;
}

const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const notes = join(folder, "notes");
writeFileSync(
	join(folder, "nvidia-smi"),
	`#!/bin/sh\nfor gpu in 0 1; do echo "$gpu, NVIDIA L4, ${SIZE_MIB}, 0, 0"; done\n`,
	{ mode: 0o755 },
);
const command = [process.execPath, fileURLToPath(new URL("gpu-worker.ts", import.meta.url))];
const common = { launcher: { type: "process", command }, env: { NOTES: notes }, limits: "off", idleTimeout: 30 };
const ENDPOINTS = {
	large: { ...common, gpuMemoryGb: 14 },
	small: { ...common, gpuMemoryGb: 8 },
	whole: { ...common, gpusPerWorker: 1 },
};
type Name = keyof typeof ENDPOINTS;
const NAMES = Object.keys(ENDPOINTS) as Name[];

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function random(state: number): () => number {
	let a = state;
	return () => {
		a = (a + 0x6d2b79f5) | 0;
		let t = Math.imul(a ^ (a >>> 15), 1 | a);
		t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
		return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
	};
}
const draw = random(seed);

async function ask(path: string, method: string, body?: object): Promise<any> {
	const headers = { authorization: `Bearer ${KEY}` };
	const answer = await fetch(service.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
	if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${await answer.text()}`);
	return await answer.json();
}

const read = (): Note[] =>
	(existsSync(notes) ? readFileSync(notes, "utf8") : "")
		.split("\n")
		.filter((line) => line !== "")
		.map((line) => JSON.parse(line) as Note);

/** The most memory that workers alive at the same time were promised of one GPU, in GB. */
function mostPromised(all: readonly Note[]): number {
	const alive = new Map<string, Note>();
	let most = 0;
	for (const each of all) {
		if (each.event === "begin") alive.set(each.worker, each);
		if (each.event === "end") alive.delete(each.worker);
		for (let gpu = 0; gpu < GPUS; gpu += 1) {
			const parts = [...alive.values()].filter(({ gpus }) => gpus.split(",").includes(String(gpu)));
			most = Math.max(
				most,
				parts.reduce((sum, { memoryGb = SIZE_GB }) => sum + Number(memoryGb), 0),
			);
		}
	}
	return Math.round(most * 10) / 10;
}

const service = await startService(folder, {
	env: { SLUICE_GPUS: String(GPUS), PATH: `${folder}:${process.env["PATH"]}` },
});
try {
	for (const id of NAMES) await ask("/v1/endpoints", "POST", { id, ...ENDPOINTS[id] });
	const submitted = new Map<string, Name>();
	const submittedAt = new Map<string, number>();
	while (submitted.size < jobs) {
		const names = draw() < 0.5 ? [NAMES[Math.floor(draw() * NAMES.length)]!] : NAMES;
		for (let count = 0; count < BURST && submitted.size < jobs; count += 1) {
			const name = names[count % names.length]!;
			const { id } = await ask(`/v2/${name}/run`, "POST", { input: { ms: Math.round(100 + 900 * draw()) } });
			submitted.set(id, name);
			submittedAt.set(id, Date.now());
		}
		await sleep(1000 * Math.round(1 + 14 * draw()));
	}
	const states = new Map<string, string>();
	while (states.size < jobs) {
		for (const [id, name] of submitted) {
			if (states.has(id)) continue;
			const { status } = await ask(`/v2/${name}/status/${id}`, "GET");
			if (status !== "IN_QUEUE" && status !== "IN_PROGRESS") states.set(id, status);
		}
		await sleep(500);
	}
	for (const id of NAMES) await ask(`/v1/endpoints/${id}`, "PATCH", { workersMax: 0 });
	while (read().filter(({ event }) => event === "begin").length > read().filter(({ event }) => event === "end").length)
		await sleep(200);
	const all = read();
	const takes = all.filter(({ event }) => event === "take");
	const waits = takes.map(({ at, job }) => at - submittedAt.get(job!)!);
	const cut = takes.filter(({ job }) => !all.some((each) => each.event === "done" && each.job === job));
	const begins = all.filter(({ event }) => event === "begin");
	const result = {
		bench: "gpu-sharing",
		...machine(),
		jobs,
		seed,
		completed: [...states.values()].filter((state) => state === "COMPLETED").length,
		runTwice: takes.length - new Set(takes.map(({ job }) => job)).size,
		cutJobs: cut.length,
		mostPromisedGb: mostPromised(all),
		ofGb: SIZE_GB,
		workerStarts: begins.length,
		leastStarts: NAMES.length,
		longestWaitS: Math.round(Math.max(...waits) / 1000),
		seconds: Math.round((all.at(-1)!.at - all[0]!.at) / 1000),
	};
	process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
	await end(service.child, "SIGINT");
	rmSync(folder, { recursive: true, force: true });
}
