/**
 * A worker that pings from a child process, as RunPod's SDK does: the child goes on for a dead
 * parent. Takes one job, notes it as the diary worker does, and never ends it.
 */
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const env = process.env as Record<string, string>;
const headers = { authorization: env["RUNPOD_AI_API_KEY"]! };
const id = env["RUNPOD_POD_ID"]!;
const note = (what: string, job: string): void =>
	appendFileSync(env["DIARY"]!, `${JSON.stringify({ what, id: job, worker: id, pid: process.pid })}\n`);

const [, , job] = process.argv;
if (job === undefined) {
	note("up", "");
	const answer = await fetch(`${env["RUNPOD_WEBHOOK_GET_JOB"]!.replace("$ID", id)}&job_in_progress=0`, { headers });
	const { id: taken } = (await answer.json()) as { id: string };
	spawn(process.execPath, [import.meta.filename, taken], { stdio: "ignore" });
	note("run", taken);
	await sleep(600_000);
} else {
	note("up", "pings");
	for (;;) {
		await fetch(`${env["RUNPOD_WEBHOOK_PING"]!.replace("$RUNPOD_POD_ID", id)}&job_id=${job}`, {
			headers,
		}).catch(() => {});
		await sleep(100);
	}
}
