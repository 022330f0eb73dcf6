/**
 * A worker on the built worker kit that keeps a diary: a line in the file `DIARY` for its own start
 * and for the start and end of every run, so that a test can count runs and knows each process. The
 * input says how a run behaves; every nth one fails with FAIL_EACH=n.
 */
import { appendFileSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { start as Start } from "../../../packages/worker/src/index.ts";
import type { Act } from "../site.ts";

const kit = new URL("../../../dist/worker/index.js", import.meta.url).href;
const { start } = (await import(kit)) as { start: typeof Start };

const diary = process.env["DIARY"]!;
const worker = process.env["RUNPOD_POD_ID"] ?? "";

function note(what: string, id = ""): void {
	appendFileSync(diary, `${JSON.stringify({ what, id, worker, pid: process.pid })}\n`);
}

const failEach = Number(process.env["FAIL_EACH"] ?? Infinity);
let count = 0;

async function run({ ms, block, until, fail }: Act, signal: AbortSignal): Promise<void> {
	if (block !== undefined) for (const end = performance.now() + block; performance.now() < end; );
	if (ms !== undefined) await sleep(ms);
	while (until !== undefined && !existsSync(join(dirname(diary), until))) await sleep(20, undefined, { signal });
	if (fail !== undefined) throw new Error(fail);
	if ((count += 1) % failEach === 0) throw new Error("no such model");
}

note("up");
await start<Act>({
	concurrency: Number(process.env["CONCURRENCY"] ?? "1"),
	async handler({ id, input }, { signal }) {
		note("run", id);
		try {
			await run(input, signal);
		} catch (error) {
			note("stopped", id);
			throw error;
		}
		note("end", id);
		return { n: input.n, pid: process.pid, padding: "x".repeat(input.size ?? 0) };
	},
});
note("down");
