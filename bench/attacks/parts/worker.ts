/** A worker on the worker kit whose jobs take as long as their input says. */
import { setTimeout as sleep } from "node:timers/promises";
import { start } from "../../../packages/worker/src/index.ts";

await start<{ ms: number }>({
	async handler({ input: { ms } }) {
		await sleep(ms);
		return { ranOn: process.pid };
	},
});
