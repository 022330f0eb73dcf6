/** A worker of `gpu-sharing.ts`: loads for a second, then runs jobs, and notes each moment. */
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { start } from "../../packages/worker/src/index.ts";

const LOAD_MS = 1000;

const { NOTES = "", RUNPOD_POD_ID: worker, RUNPOD_ENDPOINT_ID: endpoint } = process.env;

function note(event: "begin" | "end" | "take" | "done", job?: string): void {
	appendFileSync(NOTES, `${JSON.stringify({ at: Date.now(), event, worker, endpoint, job })}\n`);
}

note("begin");
process.on("exit", () => note("end"));
const stop = (): void => process.exit(0);
process.on("SIGTERM", stop);
await sleep(LOAD_MS);
process.off("SIGTERM", stop);
await start({
	async handler(job) {
		note("take", job.id);
		await sleep(Number((job.input as { ms: number }).ms));
		note("done", job.id);
		return { ok: true };
	},
});
