/** A worker's chunks as server-sent events (D32): strings verbatim, values as events. */
import { elementsOf } from "./translation.ts";

/**
 * Each call returns what to write next, possibly nothing. Workers cut text anywhere: an unfinished line is held back
 * until its rest arrives.
 */
export function eventText() {
	let held = "";
	let tail = "\n\n";
	let done = false;

	function write(text: string): string {
		// Each text starts at the beginning of a line.
		done ||= /^data: ?\[DONE\]/m.test(text);
		tail = (tail + text).slice(-4);
		return text;
	}

	const open = (): boolean => !/(?:\n\n|\r\r|\r\n\r\n)$/.test(tail);

	function closed(): string {
		if (!open()) return "";
		// After a lone \r one \n would only complete a line end.
		return write(tail.endsWith("\n") ? "\n" : "\n\n");
	}

	function flushed(): string {
		const rest = held;
		held = "";
		return rest === "" ? closed() : write(rest) + closed();
	}

	return {
		/** A string is written verbatim, else each list element or value is an event. */
		chunk(output: string): string {
			if (output.startsWith('"')) {
				const text = JSON.parse(output) as string;
				const end = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1;
				// The held text has no line end, so it is not searched again.
				const lines = end === 0 ? "" : held + text.slice(0, end);
				held = end === 0 ? held + text : text.slice(end);
				return write(lines);
			}
			return flushed() + (elementsOf(output) ?? [output]).map((value) => write(event(value))).join("");
		},
		comment: (): string => (open() ? "" : ": waiting\n\n"),
		/** `[DONE]` only if the worker sent none. */
		end: (): string => flushed() + (done ? "" : write("data: [DONE]\n\n")),
		/** An unfinished line is dropped. */
		fail(body: string): string {
			held = "";
			return closed() + write(event(body));
		},
	};
}

/** On one line, for simple clients. */
function event(json: string): string {
	return `data: ${onOneLine(json)}\n\n`;
}

/** No text within JSON contains a line break. */
export function onOneLine(json: string): string {
	return json.replace(/[\r\n]+/g, " ");
}
