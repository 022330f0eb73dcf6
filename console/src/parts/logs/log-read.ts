/** Reads of a log for the page of logs. */
import { Failure, ask, askText, ofEndpoint, search } from "../../client/api.ts";
import type { LogFilter, PageLine, Part, Source } from "./log-search.ts";
import type { FoundLine } from "../../client/shapes.ts";

/** Lines of one read. */
const PAGE = 500;
/** What the service keeps. */
const SERVICE_LINES = 1000;
/** Pages without a line that are read one after the other. */
const MOST_EMPTY = 20;
/** The newest lines, or those before a page. Reads on where what was read has none. */
export async function readPart(
	source: Source,
	filter: LogFilter,
	{ cursor, signal }: { cursor?: string | undefined; signal?: AbortSignal | undefined },
): Promise<Part> {
	if (source === undefined) return { source, lines: await serviceLines(filter, signal) };
	const { worker, id: job, level, search: text, since, until } = filter;
	for (let [page, at] = [0, cursor]; ; page++) {
		const query = { search: text, worker, job, level, since, until, limit: PAGE, cursor: at };
		const found = await ask<{ lines: FoundLine[]; next?: string }>(ofEndpoint(source, `/logs${search(query)}`), {
			signal,
		}).catch((error: unknown) => {
			// It was deleted meanwhile.
			if (error instanceof Failure && error.code === "endpoint_not_found") return { lines: [], next: undefined };
			throw error;
		});
		at = found.next;
		if (found.lines.length > 0 || at === undefined || page >= MOST_EMPTY)
			return { source, next: at, lines: found.lines.map((line) => ({ ...line, endpoint: source, source })) };
	}
}

async function serviceLines(filter: LogFilter, signal: AbortSignal | undefined): Promise<readonly PageLine[]> {
	const { endpoint, id: job, level, search: text, since, until } = filter;
	const query = { search: text, endpoint, job, level, since, until, tail: SERVICE_LINES };
	const answer = await askText(`v1/logs${search(query)}`, { signal });
	const lines = answer.split("\n").filter((line) => line !== "");
	return lines
		.map((line) => JSON.parse(line) as Omit<PageLine, "source">)
		.map((line) => ({ ...line, source: undefined, text: line.text.replace(`${line.time} `, "") }))
		.toReversed();
}
