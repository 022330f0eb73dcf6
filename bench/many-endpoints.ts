/**
 * What many idle endpoints cost the service: each with one launched worker that polls and pings; how
 * long the console's first reads take, and a start after `kill -9`. The workers are small processes
 * that only leave their environment behind; this one calls for all of them. `node
 * bench/many-endpoints.ts [endpoints] [seconds]`, after `npm run build`; two minutes with 200, four
 * with 1,000. Linux only.
 */
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startIdleWorker } from "./idle-worker.ts";
import { machine } from "./machine.ts";
import { processorShare, residentMb } from "./memory-of.ts";
import { KEY, end, startService } from "./processes.ts";

const endpoints = Number(process.argv[2] ?? 200);
/** One whole hold of the polls by default: then each of them is begun anew once. */
const seconds = Number(process.argv[3] ?? 50);
const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const notes = join(folder, "workers");
mkdirSync(notes);

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const headers = { authorization: `Bearer ${KEY}` };
let over = false;

/** Time of one read, ms: several in turn would be paced (D41). */
async function readMs(path: string): Promise<number> {
	const asked = performance.now();
	const answer = await fetch(`${service.url}${path}`, { headers });
	await answer.arrayBuffer();
	return Number((performance.now() - asked).toPrecision(3));
}

/** Time until the first event of the console's feed, ms. */
async function feedMs(): Promise<number> {
	const asked = performance.now();
	const answer = await fetch(`${service.url}/v1/feed`, { headers });
	const reader = answer.body!.getReader();
	for (let text = ""; !text.includes("\n\n"); ) text += new TextDecoder().decode((await reader.read()).value);
	await reader.cancel();
	return Number((performance.now() - asked).toPrecision(3));
}

let service = await startService(folder);
try {
	const command = [
		"sh",
		"-c",
		`env > "${notes}/$RUNPOD_POD_ID.part" && mv "${notes}/$RUNPOD_POD_ID.part" "${notes}/$RUNPOD_POD_ID" && exec sleep 100000`,
	];
	for (let n = 0; n < endpoints; n += 1) {
		const body = JSON.stringify({
			id: `e${n}`,
			launcher: { type: "process", command },
			workersMin: 1,
			stopGraceMs: 0,
		});
		const answer = await fetch(`${service.url}/v1/endpoints`, {
			method: "POST",
			headers: { authorization: `Bearer ${KEY}` },
			body,
		});
		if (answer.status !== 201) throw new Error(`an endpoint was answered ${answer.status}: ${await answer.text()}`);
	}
	const working = new Set<string>();
	while (working.size < endpoints) {
		for (const id of readdirSync(notes)) {
			if (working.has(id) || id.endsWith(".part")) continue;
			working.add(id);
			const lines = readFileSync(join(notes, id), "utf8").split("\n");
			const entries = lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]);
			startIdleWorker(Object.fromEntries(entries), () => over);
		}
		await sleep(50);
	}
	// What the starts cost is over then, and what runs at rest has been compiled.
	await sleep(60_000);
	const pid = service.child.pid!;
	const cpuPercent = await processorShare(pid, seconds);
	const idleMb = residentMb(pid);
	const firstPage = { endpointsMs: await readMs("/v1/endpoints"), feedMs: await feedMs() };
	// The workers go on, and are adopted.
	await end(service.child, "SIGKILL");
	const killed = performance.now();
	service = await startService(folder, { port: Number(new URL(service.url).port) });
	const listeningMs = Math.round(performance.now() - killed);
	await readMs("/v2/e0/health");
	const firstAnswerMs = Math.round(performance.now() - killed);
	const result = {
		bench: "many-endpoints",
		...machine(),
		endpoints,
		workers: working.size,
		seconds,
		cpuPercent,
		residentMb: idleMb,
		firstPage,
		restart: { listeningMs, firstAnswerMs },
	};
	process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
	over = true;
	await end(service.child, "SIGINT");
	rmSync(folder, { recursive: true, force: true });
}
