/**
 * A worker that speaks RunPod's wire as its SDK does, and shares nothing with the worker kit. Its
 * handler streams `input.chunks` chunks.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { sdkWorker } from "../../support/sdk-worker.ts";

const worker = sdkWorker({
	env: process.env as Record<string, string>,
	async *handler({ input }) {
		for (let n = 0; n < input.chunks; n += 1) yield { n };
	},
	sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {}),
	aggregate: true,
	pingEveryMs: 1000,
});
process.once("SIGTERM", worker.terminate);
await worker.ended;
process.exit();
