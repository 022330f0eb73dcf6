/**
 * Callers waiting in `/runsync` at once on one server: what they cost in memory, and that all are
 * answered. `node bench/waiters.ts [callers]`, after `npm run build`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { machine } from "./machine.ts";
import { forgetPeak, peakMb, residentMb } from "./memory-of.ts";
import { KEY, end, startService, startWorker } from "./processes.ts";

const callers = Number(process.argv[2] ?? 5000);
const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
const service = await startService(folder, { budgets: { connections: callers + 100 } });
const pid = service.child.pid!;

/** Callers that connect at once: more wait for the system to accept them. */
const CONNECTING = 250;

/** One waiting caller: the status of its job, and how long the answer took. */
function caller(): Promise<{ status: string; ms: number }> {
	const began = performance.now();
	return new Promise((resolve, reject) => {
		const req = request(
			`${service.url}/v2/noop/runsync?wait=300000`,
			{
				method: "POST",
				agent,
				headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
			},
			(res) => {
				let text = "";
				res.on("data", (piece: Buffer) => (text += piece.toString()));
				res.on("end", () =>
					resolve({
						status: (JSON.parse(text) as { status: string }).status,
						ms: performance.now() - began,
					}),
				);
			},
		);
		req.on("error", reject);
		req.end('{"input":{"a":1}}');
	});
}

async function inQueue(): Promise<number> {
	const answer = await fetch(`${service.url}/v2/noop/health`, {
		headers: { authorization: `Bearer ${KEY}` },
	});
	return ((await answer.json()) as { jobs: { inQueue: number } }).jobs.inQueue;
}

try {
	const idle = residentMb(pid);
	forgetPeak(pid);
	const waits: ReturnType<typeof caller>[] = [];
	while (waits.length < callers) {
		for (let n = 0; n < CONNECTING && waits.length < callers; n += 1) waits.push(caller());
		while ((await inQueue()) < waits.length) await new Promise((resolve) => setTimeout(resolve, 20));
	}
	const waiting = residentMb(pid);
	const began = performance.now();
	const worker = await startWorker(service.url);
	const answers = await Promise.all(waits);
	const answeredMs = Math.round(performance.now() - began);
	await end(worker);
	const peak = peakMb(pid);
	const completed = answers.filter(({ status }) => status === "COMPLETED").length;
	process.stdout.write(
		`${JSON.stringify({ bench: "waiters", ...machine(), callers, completed, idleMb: idle, waitingMb: waiting, peakMb: peak, growthMb: Math.round((peak - idle) * 10) / 10, allAnsweredMs: answeredMs }, null, 2)}\n`,
	);
} finally {
	agent.destroy();
	await end(service.child);
	rmSync(folder, { recursive: true, force: true });
}
