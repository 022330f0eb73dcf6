/** What the tests of batches share: files of requests, a worker that answers them, and what comes of them. */
import { type OpenAI, toFile } from "openai";
import type { Batch } from "openai/resources/batches";
import { expect } from "vitest";
import { nextEvent, type TestService } from "../../../support/service.ts";
import { contentOf } from "../files/files-client.ts";
import { handWorker, type Taken } from "../../hand-worker.ts";

export const PATH = "/v1/chat/completions";

export const line = (id: string, body: object = { messages: [] }, more: object = {}): string =>
	JSON.stringify({ custom_id: id, method: "POST", url: PATH, body, ...more });

/** Uploads the lines as a file for a batch, and returns its id. */
export async function uploaded(client: OpenAI, lines: readonly string[]): Promise<string> {
	const file = await toFile(Buffer.from(`${lines.join("\n")}\n`), "lines.jsonl");
	return (await client.files.create({ file, purpose: "batch" })).id;
}

export async function created(client: OpenAI, lines: readonly string[], more: object = {}): Promise<Batch> {
	const input = await uploaded(client, lines);
	return await client.batches.create({ ...REQUEST, input_file_id: input, ...more });
}

export const REQUEST = { endpoint: PATH, completion_window: "24h" } as const;

/** Resolves when such a batch has ended. Ask before what causes it. */
export async function ended({ engine }: TestService, fits: (facts: { batch: string }) => boolean = () => true) {
	return (await nextEvent(engine.kernel.events, "batch.ended" as never, fits as never)) as unknown as {
		batch: string;
		status: string;
	};
}

/** Creates a batch and resolves with what it is when it has ended. */
export async function run(
	service: TestService,
	client: OpenAI,
	lines: readonly string[],
	more: object = {},
): Promise<Batch> {
	const end = ended(service);
	const { id } = await created(client, lines, more);
	await end;
	return await client.batches.retrieve(id);
}

export interface ResultLine {
	id: string;
	custom_id: string;
	response: { status_code: number; request_id: string; body: any } | null;
	error: { code: string; message: string } | null;
}

/** Lines of a file by `custom_id`, which no two may share. */
export async function results(client: OpenAI, file: string | null | undefined): Promise<Map<string, ResultLine>> {
	if (file == null) return new Map();
	const text = (await contentOf(client, file)).toString();
	expect(text.endsWith("\n")).toBe(true);
	const lines = text
		.slice(0, -1)
		.split("\n")
		.map((each) => JSON.parse(each) as ResultLine);
	const found = new Map(lines.map((each) => [each.custom_id, each]));
	expect(found.size).toBe(lines.length);
	return found;
}

/** Starts a worker that takes one job after the other and posts what `answer` returns. It ends with the service. */
export async function answering(
	service: TestService,
	endpoint: string,
	answer: (job: Taken) => object | undefined,
): Promise<void> {
	const worker = await handWorker(service, endpoint);
	const next = async (): Promise<void> => {
		const job = await worker.take();
		const outcome = job && answer(job);
		if (outcome) await worker.done(job.id, outcome);
		await next();
	};
	next().catch(() => {});
}

/** A completion that says which request it answers. */
export const completion = ({ input }: Taken, usage = { prompt_tokens: 3, completion_tokens: 5 }): object => ({
	output: [{ object: "chat.completion", echo: input.openai_input, usage }],
});
