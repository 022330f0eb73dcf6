/** `sluice batches get`: one batch, as it is or at its end. */
import type { BatchObject } from "../routes.ts";
import { systemClock } from "../../../kernel/system/clock.ts";
import { printable } from "../../../kernel/lib/terminal-text.ts";
import { path } from "../../../cli/client/service-client.ts";
import type { Action } from "../../../cli/framework/command.ts";
import { formatOf, OUTPUT_FLAGS, printAnswer } from "../../../cli/framework/common-flags.ts";
import { interruption } from "../../../cli/framework/interruption.ts";
import { fieldList, shortUnixTime } from "../../../cli/framework/table.ts";
import { isFlawless, reasonLines } from "./outcome.ts";
import { doneText, endOf, isEnded, tokensText } from "./progress.ts";
import { batchesOf, goesOn, waitForEnd } from "./wait.ts";

export const get: Action = {
	name: "get",
	args: ["ENDPOINT", "ID"],
	summary: "print how far a batch is, and its files",
	flags: {
		wait: { summary: "follow it to its end first; exit code 1 if a request has no answer" },
		...OUTPUT_FLAGS,
	},
	examples: ["sluice batches get hello batch_019b2f6e7c1a7d259a415f0f6a1c2e77 --wait"],
	async run(input) {
		const { args, flags, service } = input;
		const [endpoint = "", id = ""] = args;
		formatOf(flags);
		// Whether there is one is known before the wait, which bears a service that does not answer.
		const first = await service.request("GET", batchesOf(endpoint) + path`/${id}`);
		const isOver = !flags["wait"] || isEnded(first.json as BatchObject);
		const { signal } = interruption(goesOn(endpoint, id));
		const answer = isOver ? first : await waitForEnd({ service, endpoint, id, clock: systemClock, signal });
		const batch = answer.json as BatchObject;
		printAnswer(answer, input, () => batchText(batch));
		return !flags["wait"] || isFlawless(batch) ? 0 : 1;
	},
};

export function batchText(batch: BatchObject): string {
	const { status, request_counts: counts } = batch;
	const notes = Object.entries(batch.metadata ?? {}).map(([name, text]) => `${name}=${text as string}`);
	const fields = fieldList([
		["Batch", batch.id],
		["Status", status],
		["Path", batch.endpoint],
		["Done", doneText(batch)],
		["Failed", counts.failed > 0 ? counts.failed : undefined],
		["Tokens", tokensText(batch)],
		["Created", shortUnixTime(batch.created_at)],
		["Expires", isEnded(batch) ? undefined : shortUnixTime(batch.expires_at)],
		["Ended", shortUnixTime(endOf(batch))],
		["Input", batch.input_file_id],
		["Answers", batch.output_file_id ?? undefined],
		["Errors", batch.error_file_id ?? undefined],
		["Metadata", notes.length > 0 ? notes.join(", ") : undefined],
	]);
	return (
		fields +
		reasonLines(batch)
			.map((line) => `${printable(line)}\n`)
			.join("")
	);
}
