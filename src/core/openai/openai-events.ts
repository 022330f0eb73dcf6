/**
 * A worker's chunks as server-sent events (D32): text goes out as the worker produced it, values
 * become events.
 */
import { elementsOf } from "./openai.ts";

/**
 * Makes the text of one stream, piece by piece; each answer is what to write next, possibly
 * nothing.
 */
export interface EventText {
	/**
	 * The next chunk's output, JSON text: a string verbatim, one event per element of a list, one for
	 * anything else.
	 */
	chunk(output: string): string;
	/** A line that parsers skip: keeps the connection while nothing comes. */
	comment(): string;
	/** The rest: what is held back, and `[DONE]` where the worker sent none. */
	end(): string;
	/** The failure as the last event; a line that was cut off is left out. */
	fail(body: string): string;
}

/**
 * Workers cut their text anywhere, so an unfinished line is held back until the rest of it comes:
 * an error behind half a line would be unreadable, and no client can use half a line.
 */
export function eventText(): EventText {
	let held = "";
	/** The last characters written: tells whether an event is open. */
	let tail = "\n\n";
	let done = false;

	function write(text: string): string {
		// Everything written begins at the start of a line.
		done ||= /^data: ?\[DONE\]/m.test(text);
		tail = (tail + text).slice(-4);
		return text;
	}

	const open = (): boolean => !/(?:\n\n|\r\r|\r\n\r\n)$/.test(tail);

	/** Ends the event that is open, if one is. */
	function closed(): string {
		if (!open()) return "";
		return write(/[\r\n]$/.test(tail) ? "\n" : "\n\n");
	}

	function flushed(): string {
		const rest = held;
		held = "";
		return rest === "" ? closed() : write(rest) + closed();
	}

	return {
		chunk(output) {
			if (output.startsWith('"')) {
				const said = JSON.parse(output) as string;
				const end = Math.max(said.lastIndexOf("\n"), said.lastIndexOf("\r")) + 1;
				// What is held back has no line end, and is not looked at again for each piece that has
				// none either.
				const lines = end === 0 ? "" : held + said.slice(0, end);
				held = end === 0 ? held + said : said.slice(end);
				return write(lines);
			}
			return (
				flushed() + (elementsOf(output) ?? [output]).map((value) => write(event(value))).join("")
			);
		},
		comment: () => (open() ? "" : ": waiting\n\n"),
		end: () => flushed() + (done ? "" : write("data: [DONE]\n\n")),
		fail(body) {
			held = "";
			return closed() + write(event(body));
		},
	};
}

/**
 * JSON text on one line: a line end can only stand between its values, and simple clients read line
 * by line.
 */
function event(json: string): string {
	return `data: ${json.replace(/[\r\n]+/g, " ")}\n\n`;
}
