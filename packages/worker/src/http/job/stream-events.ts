/** Splits the body of a stream into events. An event or a character is never divided. */
import { JobFailure } from "../job-failure.ts";

/** Maximum length of an event or line, characters. */
export const MAX_EVENT = 8_000_000;

/** `data`: what the event carries. `text`: all of it as received, with its line ends. */
export interface StreamEvent {
	data: string;
	text: string;
}

/** Lines with their ends: LF, CR LF or CR. The last one may have none. Throws {@link JobFailure} for a long line. */
export async function* linesOf(body: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
	const decoder = new TextDecoder();
	// Searched already; a line of megabytes is not searched again with each piece of it.
	let begun: string[] = [];
	let length = 0;
	let rest = "";
	for await (const piece of body) {
		const text = rest + decoder.decode(piece, { stream: true });
		let start = 0;
		// A CR at the end may be the first half of CR LF.
		for (const { 0: end, index } of text.matchAll(/\r\n|\n|\r(?!$)/g)) {
			const after = index + end.length;
			yield begun.join("") + text.slice(start, after);
			begun = [];
			length = 0;
			start = after;
		}
		const searched = text.endsWith("\r") ? text.length - 1 : text.length;
		rest = text.slice(searched);
		if (searched > start) begun.push(text.slice(start, searched));
		length += searched - start;
		if (length > MAX_EVENT) throw tooLong();
	}
	const last = begun.join("") + rest + decoder.decode();
	if (last !== "") yield last;
}

/** Server-sent events (HTML, "server-sent events") that have data. */
export async function* sseEvents(body: AsyncIterable<Buffer>): AsyncGenerator<StreamEvent, void> {
	let data: string[] = [];
	let text = "";
	for await (const line of linesOf(body)) {
		text += line;
		if (text.length > MAX_EVENT) throw tooLong();
		const content = line.replace(/(?:\r\n|\n|\r)$/, "");
		if (content.startsWith("data:")) data.push(content.slice(content[5] === " " ? 6 : 5));
		else if (content === "data") data.push("");
		if (content !== "") continue;
		if (data.length > 0) yield { data: data.join("\n"), text };
		data = [];
		text = "";
	}
	if (data.length > 0) yield { data: data.join("\n"), text };
}

/** Lines of JSON. Empty lines are skipped. */
export async function* ndjsonEvents(body: AsyncIterable<Buffer>): AsyncGenerator<StreamEvent, void> {
	for await (const text of linesOf(body)) {
		const data = text.trim();
		if (data !== "") yield { data, text };
	}
}

function tooLong(): JobFailure {
	return new JobFailure(`An event of the stream is longer than ${MAX_EVENT} characters.`);
}
