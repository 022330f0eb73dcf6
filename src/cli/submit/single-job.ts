/** One job of `sluice jobs submit`: its id, its result, or its chunks as they come (D36). */
import { randomUUID } from "node:crypto";
import { CliError } from "../command.ts";
import type { EndedJob, JobCalls } from "./job-calls.ts";
import { membersOf } from "../json-members.ts";
import { path } from "../service-client.ts";

/** What is to be told of it. */
export interface OneJob {
	calls: JobCalls;
	endpoint: string;
	body: string;
	how: "id" | "wait" | "stream";
	/** As JSON. */
	json: boolean;
}

/** Submits and prints. Answers the exit code: 1 when a job that was waited for did not complete. */
export async function submitOne({ calls, endpoint, body, how, json }: OneJob): Promise<number> {
	const id = await calls.submit(body, randomUUID());
	if (how === "id") {
		process.stdout.write(json ? `${JSON.stringify({ id, status: "IN_QUEUE" })}\n` : `${id}\n`);
		return 0;
	}
	if (how === "stream") await printChunks(calls, { endpoint, id });
	const job = await calls.ended(id);
	if (json && how === "wait") process.stdout.write(`${job.text}\n`);
	else if (how === "wait" && job.output !== undefined) process.stdout.write(`${job.output}\n`);
	return verdict(job);
}

function verdict({ id, status, error }: EndedJob): number {
	if (status === "COMPLETED") return 0;
	process.stderr.write(
		`Job ${id} is ${status}${error === undefined ? "." : `: ${String(JSON.parse(error))}`}\n`,
	);
	return 1;
}

/**
 * Prints each chunk's output as a line of JSON until the job's end; goes on after a lost connection
 * where it stopped.
 */
async function printChunks(calls: JobCalls, q: { endpoint: string; id: string }): Promise<void> {
	for (let last: string | undefined, done = false; !done; ) {
		const response = await calls.request(path`/v2/${q.endpoint}/stream/${q.id}`, {
			headers: {
				accept: "text/event-stream",
				...(last === undefined ? {} : { "last-event-id": last }),
			},
		});
		if (!response.ok || !response.body)
			throw new CliError(`The chunks of job ${q.id} cannot be read: HTTP ${response.status}.`, 1);
		try {
			for await (const event of eventsOf(response.body)) {
				last = event.id ?? last;
				if (event.name === "end") done = true;
				else if (event.name === "restart")
					process.stderr.write(
						"The job was lost by its worker and begins anew; earlier chunks may come again.\n",
					);
				else process.stdout.write(`${outputOf(event.data)}\n`);
			}
		} catch (error) {
			if (error instanceof CliError) throw error;
			// The connection broke: the next request says whether the service is still there.
		}
	}
}

/** The `output` of a chunk on one line: a line end stands between JSON values only. */
function outputOf(chunk: string): string {
	const found = membersOf(chunk, ["output"]);
	return (found.ok ? (found.texts["output"] ?? "null") : chunk).replaceAll(/[\r\n]+/g, " ");
}

/** Server-sent events. */
async function* eventsOf(
	body: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ id?: string; name: string; data: string }> {
	const decoder = new TextDecoder();
	let rest = "";
	for await (const piece of body) {
		rest += decoder.decode(piece, { stream: true });
		for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
			const lines = rest.slice(0, end).split("\n");
			rest = rest.slice(end + 2);
			const fields = (name: string): string[] =>
				lines
					.filter((line) => line.startsWith(`${name}: `))
					.map((line) => line.slice(name.length + 2));
			const [id] = fields("id");
			const data = fields("data");
			if (data.length > 0)
				yield {
					...(id === undefined ? {} : { id }),
					name: fields("event")[0] ?? "message",
					data: data.join("\n"),
				};
		}
	}
}
