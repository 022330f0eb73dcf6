/** `sluice batches create`: checks and uploads a file of requests, and makes a batch of it (D57). */
import type { BatchObject } from "../routes.ts";
import { systemClock } from "../../../kernel/system/clock.ts";
import { CliError } from "../../../cli/client/errors.ts";
import { path, type ServiceAnswer, type ServiceClient } from "../../../cli/client/service-client.ts";
import type { Action, ActionInput } from "../../../cli/framework/command.ts";
import { JSON_FLAG } from "../../../cli/framework/common-flags.ts";
import {
	FORCE_FLAG,
	receivedText,
	receiveFile,
	refuseTarget,
	sendFile,
} from "../../../cli/framework/endpoint-files.ts";
import { interruption } from "../../../cli/framework/interruption.ts";
import { linesIn, linesOf } from "../../../cli/framework/lines.ts";
import { checkLines, firstPath } from "./check-lines.ts";
import { isFlawless, outcomeText } from "./outcome.ts";
import { batchesOf, followHint, goesOn, waitForEnd } from "./wait.ts";

interface NewBatch {
	input_file_id: string;
	endpoint: string;
	completion_window: string;
	metadata?: Record<string, string>;
}

/** An id of a file, and no name of one. */
const FILE_ID = /^file-(?!.*\.jsonl$)/;

export const create: Action = {
	name: "create",
	args: ["ENDPOINT", "FILE"],
	summary: "run each line of a file, or of an uploaded one by its id, as a request; prints the id of the batch",
	flags: {
		path: { value: "PATH", summary: "path of the requests, such as /v1/chat/completions (default: that of line 1)" },
		window: { value: "TIME", summary: "time in which they may run, such as 24h or 7d (default 24h)" },
		metadata: { value: "NAME=TEXT", many: true, summary: "a note to store with the batch" },
		wait: { summary: "follow it to its end; exit code 1 if a request has no answer. Ctrl-C leaves it running" },
		output: { value: "FILE|-", summary: "with --wait: file or folder for the answers; - for standard output" },
		...FORCE_FLAG,
		...JSON_FLAG,
	},
	examples: [
		"sluice batches create hello lines.jsonl",
		"sluice batches create hello lines.jsonl --window 3d --wait --output answers.jsonl",
		"sluice batches create hello file-019b2f6e7c1a7d259a415f0f6a1c2e77 --metadata run=nightly",
	],
	async run(input) {
		const { args, flags, service } = input;
		const [endpoint = "", file = ""] = args;
		const metadata = metadataOf(input.lists["metadata"] ?? []);
		await checkFlags(flags);
		service.apiKey();
		const uploaded = FILE_ID.test(file)
			? { id: file, url: flags["path"] ?? (await storedPath(service, endpoint, file)) }
			: await upload(service, { endpoint, file, given: flags["path"] });
		const answer = await made(service, {
			endpoint,
			isNew: uploaded.id !== file,
			body: {
				input_file_id: uploaded.id,
				endpoint: uploaded.url,
				completion_window: flags["window"] ?? "24h",
				...(metadata && { metadata }),
			},
		});
		return await followed(input, { endpoint, answer });
	},
};

async function checkFlags({ wait, output, force, json }: ActionInput["flags"]): Promise<void> {
	if (output === undefined) return;
	if (!wait) throw new CliError("--output needs --wait. Later: sluice batches results.");
	if (json && output === "-") throw new CliError("--json and --output - would both print to standard output.");
	await refuseTarget(output, Boolean(force));
}

function metadataOf(pairs: readonly string[]): Record<string, string> | undefined {
	if (pairs.length === 0) return undefined;
	return Object.fromEntries(
		pairs.map((pair) => {
			const at = pair.indexOf("=");
			if (at < 1) throw new CliError(`--metadata must be NAME=TEXT, not '${pair}'.`);
			return [pair.slice(0, at), pair.slice(at + 1)];
		}),
	);
}

async function upload(
	service: ServiceClient,
	{ endpoint, file, given }: { endpoint: string; file: string; given: string | undefined },
): Promise<{ id: string; url: string }> {
	const {
		path: url,
		requests,
		faults,
	} = await checkLines(linesOf(file), given).catch((error: unknown) => {
		throw new CliError(`${file} cannot be read: ${(error as Error).message}.`, 1);
	});
	if (faults.length > 0)
		throw new CliError([`${file} is no file of requests. Nothing was uploaded.`, ...faults].join("\n"), 1);
	if (requests === 0 || url === undefined) throw new CliError(`${file} has no requests.`, 1);
	const { json } = await sendFile(service, { endpoint, file, fields: [["purpose", "batch"]] });
	return { id: (json as { id: string }).id, url };
}

async function storedPath(service: ServiceClient, endpoint: string, id: string): Promise<string> {
	const url = await firstPath(linesIn(service.download("GET", path`/v2/${endpoint}/openai/v1/files/${id}/content`)));
	if (url === undefined) throw new CliError(`No line of ${id} has a url. Pass --path.`, 1);
	return url;
}

async function made(
	service: ServiceClient,
	{ endpoint, isNew, body }: { endpoint: string; isNew: boolean; body: NewBatch },
): Promise<ServiceAnswer> {
	try {
		return await service.request("POST", batchesOf(endpoint), body);
	} catch (error) {
		if (!(error instanceof CliError) || !isNew) throw error;
		const next = `The file is uploaded. To use it: sluice batches create ${endpoint} ${body.input_file_id}`;
		throw new CliError(`${error.message}\n${next}`, error.exitCode, error.status, error.code);
	}
}

async function followed(
	{ flags, service }: ActionInput,
	{ endpoint, answer }: { endpoint: string; answer: ServiceAnswer },
): Promise<number> {
	const { id } = answer.json as BatchObject;
	const { wait, output, force, json } = flags;
	const isQuiet = json !== undefined;
	// Before the id is printed: a program that reads it may stop the command at once.
	const { signal, end } = interruption(goesOn(endpoint, id));
	if (!isQuiet) (output === "-" ? process.stderr : process.stdout).write(`${id}\n`);
	if (!wait) {
		if (isQuiet) process.stdout.write(`${answer.text}\n`);
		else process.stderr.write(`${followHint(endpoint, id)}\n`);
		return 0;
	}
	const ended = await waitForEnd({ service, endpoint, id, clock: systemClock, signal });
	end();
	const batch = ended.json as BatchObject;
	if (isQuiet) process.stdout.write(`${ended.text}\n`);
	else process.stderr.write(outcomeText(batch, { endpoint, isWritten: output !== undefined }));
	if (output !== undefined && batch.output_file_id !== null) {
		const q = { endpoint, id: batch.output_file_id, target: output, force: Boolean(force) };
		process.stderr.write(receivedText(await receiveFile(service, q)));
	}
	return isFlawless(batch) ? 0 : 1;
}
