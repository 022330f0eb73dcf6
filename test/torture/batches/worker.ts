/**
 * A worker on the built worker kit that answers requests of a campaign, `REQUEST_MS` each. It writes a line into the
 * file `DIARY` for its start and for each run. Requests from the number on that is in the file `DIARY`.held wait.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { start as Start } from "../../../packages/worker/src/index.ts";
import { answerTo, FAILURE, fails } from "./requests.ts";

const kit = new URL("../../../dist/worker/index.js", import.meta.url).href;
const { start } = (await import(kit)) as { start: typeof Start };

const diary = process.env["DIARY"]!;
const ms = Number(process.env["REQUEST_MS"] ?? 0);
const held = `${diary}.held`;

const isHeld = (n: number): boolean => existsSync(held) && n >= Number(readFileSync(held, "utf8"));

function note(what: object): void {
	appendFileSync(diary, `${JSON.stringify({ ...what, pid: process.pid })}\n`);
}

note({});
await start<{ openai_input: { n: number } }>({
	concurrency: Number(process.env["CONCURRENCY"] ?? 1),
	async handler({ input }, { signal }) {
		const { n } = input.openai_input;
		note({ n });
		await sleep(ms, undefined, { signal });
		while (isHeld(n)) await sleep(20, undefined, { signal });
		if (fails(n)) throw new Error(FAILURE);
		return answerTo(n);
	},
});
