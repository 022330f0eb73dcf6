/**
 * Three endpoints on two pretended GPUs: on processes and Docker hosts one takes parts of 14 of 24 GB, one of 8 GB, one
 * a whole GPU; on Kubernetes and Slurm each takes a whole one. 300 jobs in bursts of one endpoint after another and all
 * at once. What the workers themselves note, and what the platform says all the time, is compared with what there is.
 * `node bench/gpu-sharing.ts [jobs] [seed] [--launcher process|docker|kubernetes|slurm]`, after `npm run build`; about
 * five minutes. The launchers need what their tests need (docs/testing.md).
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { TURN_MS } from "../src/modules/gpus/placement/eviction.ts";
import { longestWithoutGpu, mostByNotes, type Note, sampler } from "./gpu-sharing/account.ts";
import type { Open } from "./gpu-sharing/platform.ts";
import { machine } from "./machine.ts";
import { end, KEY, startService } from "./processes.ts";

const BURST = 25;
/** Ms that jobs take. */
const [SHORTEST, LONGEST] = [100, 3000];

const { values, positionals } = parseArgs({
	options: { launcher: { type: "string", default: "process" } },
	allowPositionals: true,
});
const [jobs = 300, seed = 1] = positionals.map(Number);
const { open } = (await import(`./gpu-sharing/${values.launcher}.ts`)) as { open: Open };

const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const notes = join(folder, "notes");

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

const platform = await open({ folder, notes });
const service = await startService(folder, platform.service).catch(async (error: unknown) => {
	await platform.close();
	throw error;
});
try {
	const names = Object.keys(platform.endpoints);
	const common = { env: { NOTES: notes }, limits: "off", idleTimeout: 30 };
	for (const id of names) await ask("/v1/endpoints", "POST", { id, ...common, ...platform.endpoints[id] });
	const samples = sampler(platform);
	const submitted = new Map<string, { endpoint: string; at: number }>();
	while (submitted.size < jobs) {
		const chosen = draw() < 0.5 ? [names[Math.floor(draw() * names.length)]!] : names;
		for (let count = 0; count < BURST && submitted.size < jobs; count += 1) {
			const endpoint = chosen[count % chosen.length]!;
			const input = { ms: Math.round(SHORTEST + (LONGEST - SHORTEST) * draw()) };
			const at = Date.now();
			const { id } = await ask(`/v2/${endpoint}/run`, "POST", { input });
			submitted.set(id, { endpoint, at });
		}
		await sleep(1000 * Math.round(1 + 14 * draw()));
	}
	const states = new Map<string, string>();
	while (states.size < jobs) {
		for (const [id, { endpoint }] of submitted) {
			if (states.has(id)) continue;
			const { status } = await ask(`/v2/${endpoint}/status/${id}`, "GET");
			if (status !== "IN_QUEUE" && status !== "IN_PROGRESS") states.set(id, status);
		}
		await sleep(500);
	}
	for (const id of names) await ask(`/v1/endpoints/${id}`, "PATCH", { workersMax: 0 });
	while ((await platform.shares()).length > 0) await sleep(200);
	const { most, samples: sampled, seen } = await samples.end();
	const all = read();
	const takes = all.filter(({ event }) => event === "take");
	const waits = takes.map(({ at, job }) => at - submitted.get(job!)!.at);
	const begins = all.filter(({ event }) => event === "begin");
	const ends = all.filter(({ event }) => event === "end");
	const result = {
		bench: "gpu-sharing",
		...machine(),
		launcher: values.launcher,
		jobs,
		seed,
		completed: [...states.values()].filter((state) => state === "COMPLETED").length,
		runTwice: takes.length - new Set(takes.map(({ job }) => job)).size,
		cutJobs: takes.filter(({ job }) => !all.some((each) => each.event === "done" && each.job === job)).length,
		killedWorkers: begins.length - ends.length,
		mostTaken: { platform: most, workers: mostByNotes(all, seen), of: platform.capacity, unit: platform.unit },
		samples: sampled,
		workerStarts: begins.length,
		leastStarts: names.length,
		longestWaitS: Math.round(Math.max(...waits) / 1000),
		longestWithoutGpuS: longestWithoutGpu(all, submitted),
		/** The most that D28 allows of it, without the starts of workers. */
		boundS: Math.round(((names.length - 1) * (TURN_MS + LONGEST)) / 1000),
		seconds: Math.round((all.at(-1)!.at - all[0]!.at) / 1000),
	};
	process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
	await end(service.child, "SIGINT");
	await platform.close();
	rmSync(folder, { recursive: true, force: true });
}
