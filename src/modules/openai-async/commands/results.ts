/** `sluice batches results`: the file with the answers, or with the errors, of a batch that has ended. */
import type { BatchObject } from "../routes.ts";
import { CliError } from "../../../cli/client/errors.ts";
import { path } from "../../../cli/client/service-client.ts";
import type { Action } from "../../../cli/framework/command.ts";
import { FORCE_FLAG, receivedText, receiveFile } from "../../../cli/framework/endpoint-files.ts";
import { reasonLines } from "./outcome.ts";
import { doneText, isEnded } from "./progress.ts";
import { batchesOf, followHint } from "./wait.ts";

export const results: Action = {
	name: "results",
	args: ["ENDPOINT", "ID"],
	summary: "print the answers of a batch that has ended, a line of JSON for each, in any order",
	flags: {
		errors: { summary: "the requests without an answer instead, with the reason of each" },
		output: { value: "FILE|-", summary: "file or folder for them (default: -, standard output)" },
		...FORCE_FLAG,
	},
	examples: [
		"sluice batches results hello batch_019b2f6e7c1a7d259a415f0f6a1c2e77 --output answers.jsonl",
		"sluice batches results hello batch_019b2f6e7c1a7d259a415f0f6a1c2e77 --errors | jq .custom_id",
	],
	async run({ args: [endpoint = "", id = ""], flags, service }) {
		const batch = (await service.request("GET", batchesOf(endpoint) + path`/${id}`)).json as BatchObject;
		if (!isEnded(batch)) throw notEnded(batch, endpoint);
		const isErrors = flags["errors"] !== undefined;
		const file = isErrors ? batch.error_file_id : batch.output_file_id;
		if (file === null) return without(batch, { endpoint, isErrors });
		const { output: target = "-", force } = flags;
		process.stdout.write(
			receivedText(await receiveFile(service, { endpoint, id: file, target, force: Boolean(force) })),
		);
		return 0;
	},
};

function notEnded(batch: BatchObject, endpoint: string): CliError {
	const { id, status } = batch;
	const done = doneText(batch);
	const progress = done === undefined ? "" : `, ${done} requests done`;
	return new CliError(`Batch ${id} has not ended: it is ${status}${progress}. ${followHint(endpoint, id)}`, 1);
}

function without(batch: BatchObject, { endpoint, isErrors }: { endpoint: string; isErrors: boolean }): number {
	const { id, status, error_file_id: errors } = batch;
	if (isErrors && status === "completed") {
		process.stderr.write(`No request of batch ${id} failed.\n`);
		return 0;
	}
	const why = errors === null ? reasonLines(batch) : [`See why: sluice batches results ${endpoint} ${id} --errors`];
	throw new CliError(
		[`Batch ${id} is ${status} and has no ${isErrors ? "such file" : "answers"}.`, ...why].join("\n"),
		1,
	);
}
