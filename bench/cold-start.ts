/**
 * What the service adds to the cold start of a worker: from `/runsync` with no worker there to the
 * result, next to a bare server that starts the same worker and hands it one job; the two in turn. Then the same where
 * an idle worker of another endpoint has the only GPU: it is stopped for it, so a swap is its end and a cold start.
 * `node bench/cold-start.ts [starts] [swaps]`, after `npm run build`; each swap takes ten seconds.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MIN_STAY_MS } from "../src/modules/gpus/placement/eviction.ts";
import { workerEnv } from "../src/kernel/core/workers/worker-env.ts";
import { machine, median } from "./machine.ts";
import { KEY, end, startService } from "./processes.ts";

const [starts = 30, swaps = 5] = process.argv.slice(2).map(Number);
const command = [process.execPath, fileURLToPath(new URL("noop-worker.ts", import.meta.url))];
const headers = { authorization: `Bearer ${KEY}` };
const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));

/**
 * Starts the worker by itself, hands it one job, and answers the ms from the start to its result.
 */
async function bare(): Promise<number> {
	const done = Promise.withResolvers<void>();
	let given = false;
	const server = createServer((req, res) => {
		req.resume();
		const { url = "" } = req;
		if (url.includes("/job-done/")) done.resolve();
		if (url.includes("/job-take") && !given) {
			given = true;
			res.setHeader("content-type", "application/json");
			return void res.end(url.includes("batch") ? '[{"id":"job","input":{}}]' : '{"id":"job","input":{}}');
		}
		// Polls are held, as the service does.
		if (!url.includes("/job-take") && !url.includes("/job-stop/")) res.end("{}");
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const env = {
		...process.env,
		...workerEnv({ url, endpoint: "bare", worker: "bare-1", token: "token", leaseMs: 20_000 }),
	};
	const began = performance.now();
	const [file = "", ...args] = command;
	const child = spawn(file, args, { env, stdio: "ignore" });
	await done.promise;
	const took = performance.now() - began;
	await end(child, "SIGKILL");
	server.closeAllConnections();
	server.close();
	return took;
}

async function ask(path: string, method: string, body?: object): Promise<any> {
	const answer = await fetch(service.url + path, {
		method,
		headers,
		...(body && { body: JSON.stringify(body) }),
	});
	if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${await answer.text()}`);
	return await answer.json();
}

/** Lets so many workers be; resolves when there are no more. */
async function allow(workersMax: number): Promise<void> {
	await ask("/v1/endpoints/cold", "PATCH", { workersMax });
	while (workersMax === 0 && (await ask("/v1/endpoints/cold/workers", "GET")).workers.length > 0)
		await new Promise((resolve) => setTimeout(resolve, 20));
}

/** The ms from a submission without a worker to its result. */
async function served(): Promise<number> {
	await allow(1);
	const began = performance.now();
	const { status } = await ask("/v2/cold/runsync", "POST", { input: {} });
	const took = performance.now() - began;
	if (status !== "COMPLETED") throw new Error(`the job is ${status}`);
	await allow(0);
	return took;
}

/** The ms from a submission while the other endpoint's idle worker has the GPU to its result. */
async function swapped(endpoint: string): Promise<number> {
	await new Promise((resolve) => setTimeout(resolve, MIN_STAY_MS + 500));
	const began = performance.now();
	const { status } = await ask(`/v2/${endpoint}/runsync`, "POST", { input: {} });
	if (status !== "COMPLETED") throw new Error(`the job is ${status}`);
	return performance.now() - began;
}

const service = await startService(folder, { env: { SLUICE_GPUS: "1" } });
try {
	const settings = { launcher: { type: "process", command }, stopGraceMs: 0, limits: "off" };
	await ask("/v1/endpoints", "POST", { id: "cold", workersMax: 0, ...settings });
	const sharing = { ...settings, gpusPerWorker: 1, idleTimeout: 3600, workersMax: 1 };
	for (const id of ["one", "other"]) await ask("/v1/endpoints", "POST", { id, ...sharing });
	await bare();
	await served();
	const [alone, through]: [number[], number[]] = [[], []];
	for (let start = 0; start < starts; start += 1) {
		alone.push(await bare());
		through.push(await served());
	}
	if (swaps > 0) await ask("/v2/one/runsync", "POST", { input: {} });
	const [beside, swapping]: [number[], number[]] = [[], []];
	for (let swap = 0; swap < swaps; swap += 1) {
		beside.push(await bare());
		swapping.push(await swapped(swap % 2 === 0 ? "other" : "one"));
	}
	const round = (ms: number): number => Math.round(ms * 10) / 10;
	const result = {
		bench: "cold-start",
		...machine(),
		starts,
		aloneMs: round(median(alone)),
		throughMs: round(median(through)),
		addedMs: round(median(through) - median(alone)),
		...(swaps > 0 && { swaps, swapMs: round(median(swapping)), swapAddedMs: round(median(swapping) - median(beside)) }),
	};
	process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
	await end(service.child, "SIGINT");
	rmSync(folder, { recursive: true, force: true });
}
