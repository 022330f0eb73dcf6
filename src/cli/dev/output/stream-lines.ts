/** Chunks of a job as lines: text that arrives in pieces is joined, other chunks stand on a line each. */
import { textIn } from "../../../kernel/lib/stream-text.ts";
import { parseJson } from "../../client/service-client.ts";

/** A line is printed at this length, at a blank if there is one, characters. */
const WIDTH = 100;

interface StreamLines {
	/** Prints what is a whole line. */
	chunks(chunks: readonly string[]): void;
	/** Prints the rest. */
	end(): void;
}

/** `print` gets a line of text, `printChunk` the JSON text of a chunk that is no piece of a text. */
export function streamLines(print: (line: string) => void, printChunk: (json: string) => void): StreamLines {
	let text = "";
	const flush = (upTo: number): void => {
		print(text.slice(0, upTo).trimEnd());
		text = text.slice(upTo).replace(/^[ \n]/, "");
	};
	const whole = (): number | undefined => {
		const end = text.slice(0, WIDTH + 1).indexOf("\n");
		if (end >= 0) return end;
		if (text.length <= WIDTH) return undefined;
		const blank = text.lastIndexOf(" ", WIDTH);
		return blank > 0 ? blank : WIDTH;
	};
	const end = (): void => {
		if (text !== "") flush(text.length);
	};
	return {
		chunks(chunks) {
			for (const chunk of chunks) {
				const piece = textIn([parseJson(chunk)]);
				if (piece === undefined) {
					end();
					printChunk(chunk);
					continue;
				}
				text += piece;
				for (let upTo = whole(); upTo !== undefined; upTo = whole()) flush(upTo);
			}
		},
		end,
	};
}
