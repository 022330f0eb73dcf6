/** One job of `sluice jobs submit`: prints its id, result or chunks (D36). */
import { randomUUID } from "node:crypto";
import { printableLines } from "../../core/terminal-text.ts";
import { CliError } from "../errors.ts";
import { errorText } from "../job-error.ts";
import { readable } from "../job-text.ts";
import { membersOf } from "../json-members.ts";
import { path } from "../service-client.ts";
import type { EndedJob, JobCalls } from "./job-calls.ts";

interface SingleJob {
	calls: JobCalls;
	endpoint: string;
	body: string;
	print: "id" | "result" | "chunks";
	json: boolean;
}

/** Returns the exit code: 1 if an awaited job did not complete. */
export async function submitOne(q: SingleJob): Promise<number> {
	const { calls, endpoint, body, print, json } = q;
	const id = await calls.submit(body, randomUUID());
	if (print === "id") {
		process.stdout.write(json ? `${JSON.stringify({ id, status: "IN_QUEUE" })}\n` : `${id}\n`);
		return 0;
	}
	const chunks = print === "chunks" ? await printChunks(calls, { endpoint, id }) : 0;
	const job = await calls.ended(id);
	if (json && print === "result") process.stdout.write(`${job.text}\n`);
	else if (chunks === 0 && job.output !== undefined)
		process.stdout.write(`${process.stdout.isTTY ? readable(job.output) : job.output}\n`);
	return exitCodeOf(job);
}

function exitCodeOf({ id, status, error }: EndedJob): number {
	if (status === "COMPLETED") return 0;
	const reason = error === undefined ? "." : `: ${printableLines(errorText(String(JSON.parse(error))))}`;
	process.stderr.write(`Job ${id} is ${status}${reason}\n`);
	return 1;
}

/** Resumes after a lost connection. Returns their number. */
async function printChunks(calls: JobCalls, q: { endpoint: string; id: string }): Promise<number> {
	let count = 0;
	for (let lastId: string | undefined, done = false; !done; ) {
		const response = await calls.request(path`/v2/${q.endpoint}/stream/${q.id}`, {
			headers: { accept: "text/event-stream", ...(lastId === undefined ? {} : { "last-event-id": lastId }) },
		});
		if (!response.ok || !response.body)
			throw new CliError(`Cannot read the chunks of job ${q.id}: HTTP ${response.status}.`, 1);
		try {
			for await (const event of serverSentEvents(response.body)) {
				lastId = event.id ?? lastId;
				if (event.name === "end") done = true;
				else if (event.name === "restart")
					process.stderr.write("The job lost its worker and starts again; earlier chunks may be repeated.\n");
				else {
					process.stdout.write(`${outputOf(event.data)}\n`);
					count += 1;
				}
			}
		} catch (error) {
			if (error instanceof CliError) throw error;
			// Connection lost: the next request resumes.
		}
	}
	return count;
}

/** On one line: JSON has line ends only between values. */
function outputOf(chunk: string): string {
	const found = membersOf(chunk, ["output"]);
	return (found.ok ? (found.texts["output"] ?? "null") : chunk).replaceAll(/[\r\n]+/g, " ");
}

async function* serverSentEvents(
	body: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ id: string | undefined; name: string; data: string }> {
	const decoder = new TextDecoder();
	let rest = "";
	for await (const piece of body) {
		rest += decoder.decode(piece, { stream: true });
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
