/** A worker that answers each chat with a short completion, after `CHAT_MS`; `CHAT_CONCURRENCY` at a time. */
import { setTimeout as sleep } from "node:timers/promises";
import { start } from "../packages/worker/src/index.ts";

const ms = Number(process.env["CHAT_MS"] ?? 0);
const content = "x".repeat(200);

await start({
	async handler() {
		if (ms > 0) await sleep(ms);
		return {
			id: "chatcmpl-1",
			object: "chat.completion",
			model: "m",
			choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
			usage: { prompt_tokens: 40, completion_tokens: 50, total_tokens: 90 },
		};
	},
	concurrency: Number(process.env["CHAT_CONCURRENCY"] ?? 64),
});
