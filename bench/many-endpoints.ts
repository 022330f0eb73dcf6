/**
 * What many endpoints at rest cost the service: each with one launched worker that polls and pings.
 * The workers are small processes that only leave their environment behind; this one calls for all
 * of them. `node bench/many-endpoints.ts [endpoints] [seconds]`, after `npm run build`; two
 * minutes. Linux only.
 */
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { machine } from "./machine.ts";
import { residentMb } from "./memory-of.ts";
import { KEY, end, startService } from "./processes.ts";

const endpoints = Number(process.argv[2] ?? 200);
/** One whole hold of the polls by default: then each of them is begun anew once. */
const seconds = Number(process.argv[3] ?? 50);
const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
const notes = join(folder, "workers");
mkdirSync(notes);

/** Clock ticks of a second in `/proc`. */
const TICKS = 100;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Processor time of a process so far, s. */
function cpuSeconds(pid: number): number {
	const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
	return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

/** Makes a call; resolves at the end of the answer, also of a refused connection. */
function call(url: string, authorization: string, agent: Agent): Promise<void> {
	return new Promise((resolve) => {
		get(url, { agent, headers: { authorization } }, (res) => res.resume().on("close", resolve)).on(
			"error",
			() => resolve(),
		);
	});
}

let over = false;

/**
 * The calls of one worker at rest: a take and a stop poll held open, a ping every interval, each
 * over connections that it keeps, as the SDK does.
 */
function work(env: Record<string, string>): void {
	const {
		RUNPOD_POD_ID: id = "",
		RUNPOD_AI_API_KEY: key = "",
		RUNPOD_WEBHOOK_GET_JOB: take = "",
		RUNPOD_WEBHOOK_PING: ping = "",
	} = env;
	const again = async (url: string, pauseMs: number): Promise<void> => {
		const agent = new Agent({ keepAlive: true });
		// Spread over the pause, as workers started at different times are.
		if (pauseMs > 0) await sleep(Math.random() * pauseMs);
		while (!over) {
			await call(url, key, agent);
			if (pauseMs > 0) await sleep(pauseMs);
		}
		agent.destroy();
	};
	void again(`${take.replace("$ID", id)}&job_in_progress=0`, 0);
	void again(take.replace("$ID", id).replace("/job-take/", "/job-stop/"), 0);
	void again(
		`${ping.replace("$RUNPOD_POD_ID", id)}&runpod_version=1.12.0`,
		Number(env["RUNPOD_PING_INTERVAL"]),
	);
}

const service = await startService(folder);
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
		if (answer.status !== 201)
			throw new Error(`an endpoint was answered ${answer.status}: ${await answer.text()}`);
	}
	const working = new Set<string>();
	while (working.size < endpoints) {
		for (const id of readdirSync(notes)) {
			if (working.has(id) || id.endsWith(".part")) continue;
			working.add(id);
			const lines = readFileSync(join(notes, id), "utf8").split("\n");
			work(
				Object.fromEntries(
					lines.map((line) => [
						line.slice(0, line.indexOf("=")),
						line.slice(line.indexOf("=") + 1),
					]),
				),
			);
		}
		await sleep(50);
	}
	// What the starts cost is over then, and what runs at rest has been compiled.
	await sleep(60_000);
	const pid = service.child.pid!;
	const [before, began] = [cpuSeconds(pid), performance.now()];
	await sleep(seconds * 1000);
	const share = (cpuSeconds(pid) - before) / ((performance.now() - began) / 1000);
	const result = {
		bench: "many-endpoints",
		...machine(),
		endpoints,
		workers: working.size,
		seconds,
		cpuPercent: Math.round(share * 10_000) / 100,
		residentMb: residentMb(pid),
	};
	process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
	over = true;
	await end(service.child);
	rmSync(folder, { recursive: true, force: true });
}
