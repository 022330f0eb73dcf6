/** One job of `sluice jobs submit`: prints its id, result or chunks (D36). */
import { randomUUID } from "node:crypto";
import { printableLines } from "../../kernel/lib/terminal-text.ts";
import { CliError } from "../client/errors.ts";
import { errorText, readable } from "../commands/jobs/job-text.ts";
import { systemClock } from "../../kernel/system/clock.ts";
import { progressBar } from "../framework/progress-bar.ts";
import { trimmedStack } from "../framework/stack.ts";
import { membersOf } from "../framework/json-members.ts";
import { path } from "../client/service-client.ts";
import type { JobCalls } from "./job-calls.ts";
import { onOneLine } from "./results.ts";

/** Returns exit code 1 if an awaited job did not complete. */
export async function submitOne(
	calls: JobCalls,
	q: { endpoint: string; body: string; print: "id" | "result" | "chunks"; json: boolean },
): Promise<number> {
	const { endpoint, body, print, json } = q;
	const id = await calls.submit(body, randomUUID());
	if (print === "id") {
		process.stdout.write(json ? `${JSON.stringify({ id, status: "IN_QUEUE" })}\n` : `${id}\n`);
		return 0;
	}
	const chunks = print === "chunks" ? await printChunks(calls, endpoint, id) : 0;
	const bar = progressBar(systemClock.now);
	const job = await calls.ended(id, (reason) => showWait(bar, reason));
	bar.clear();
	if (json && print === "result") process.stdout.write(`${job.text}\n`);
	else if (chunks === 0 && job.output !== undefined)
		process.stdout.write(`${process.stdout.isTTY ? readable(job.output) : job.output}\n`);
	if (job.status === "COMPLETED") return 0;
	const error = job.error === undefined ? "" : errorText(String(JSON.parse(job.error)));
	const reason = error === "" ? "." : `: ${printableLines(trimmedStack(error, "--json"))}`;
	process.stderr.write(`Job ${id} is ${job.status}${reason}\n`);
	return 1;
}

/** Why a job waits; undefined: it runs. */
export function showWait(bar: ReturnType<typeof progressBar>, reason: string | undefined): void {
	if (reason === undefined) bar.clear();
	else bar.show({ share: undefined, count: 0, text: printableLines(reason) });
}

async function printChunks(calls: JobCalls, endpoint: string, id: string): Promise<number> {
	let count = 0;
	for (let lastId: string | undefined, done = false; !done; ) {
		const headers = { accept: "text/event-stream", ...(lastId !== undefined && { "last-event-id": lastId }) };
		const response = await calls.request(path`/v2/${endpoint}/stream/${id}`, { headers });
		if (!response.ok || !response.body)
			throw new CliError(`Cannot read the chunks of job ${id}: HTTP ${response.status}.`, 1);
		try {
			for await (const event of serverSentEvents(response.body)) {
				lastId = event.id ?? lastId;
				if (event.name === "end") done = true;
				else if (event.name === "restart")
					process.stderr.write("The job lost its worker and starts again; earlier chunks may be repeated.\n");
				else {
					const output = outputOf(event.data);
					process.stdout.write(`${process.stdout.isTTY ? readable(output) : output}\n`);
					count += 1;
				}
			}
		} catch {
			// The next request resumes.
		}
	}
	return count;
}

function outputOf(chunk: string): string {
	const found = membersOf(chunk, ["output"]);
	return onOneLine(found.ok ? (found.texts["output"] ?? "null") : chunk);
}

async function* serverSentEvents(body: ReadableStream<Uint8Array<ArrayBuffer>>) {
	let rest = "";
	for await (const piece of body.pipeThrough(new TextDecoderStream())) {
		rest += piece;
		for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
			const lines = rest.slice(0, end).split("\n");
			rest = rest.slice(end + 2);
			const fields = (name: string): string[] =>
				lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2));
			const data = fields("data");
			if (data.length > 0) yield { id: fields("id")[0], name: fields("event")[0] ?? "message", data: data.join("\n") };
		}
	}
}
