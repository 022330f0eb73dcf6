/**
 * A worker on the built worker kit that answers `/v1/responses` with events, a letter in each. In the middle it waits
 * for the file `go` beside its diary, which has a line for each run.
 */
import { appendFileSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { start as Start } from "../../../packages/worker/src/index.ts";

const kit = new URL("../../../dist/worker/index.js", import.meta.url).href;
const { start } = (await import(kit)) as { start: typeof Start };

const diary = process.env["DIARY"]!;
const TEXT = "Boats in the harbour";

const response = (status: string, text: string): object => ({
	id: "resp_worker",
	object: "response",
	status,
	output: [
		{ id: "msg_1", type: "message", role: "assistant", content: [{ type: "output_text", text, annotations: [] }] },
	],
});
const event = (type: string, members: object): string =>
	`event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;

await start<{ openai_input: { stream?: boolean } }>({
	async *handler({ id, input }, { signal }) {
		appendFileSync(diary, `${JSON.stringify({ what: "run", id, worker: "", pid: process.pid })}\n`);
		if (input.openai_input.stream !== true) {
			yield response("completed", TEXT);
			return;
		}
		yield event("response.created", { response: response("in_progress", "") });
		for (const [index, delta] of TEXT.split("").entries()) {
			while (index === 10 && !existsSync(join(dirname(diary), "go"))) await sleep(20, undefined, { signal });
			const text = event("response.output_text.delta", { delta });
			// Cut in the middle of each event.
			yield text.slice(0, 30);
			yield text.slice(30);
		}
		yield event("response.completed", { response: response("completed", TEXT) });
	},
});
