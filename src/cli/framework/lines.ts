/** Lines as bytes, read piece by piece. */
import { createReadStream } from "node:fs";

/** `end`: offset after the line. `whole`: it ends with a newline. */
export interface Line {
	bytes: Buffer;
	end: number;
	whole: boolean;
}

/** `-` is standard input. */
export function linesOf(file: string): AsyncGenerator<Line> {
	return linesIn(file === "-" ? process.stdin : createReadStream(file));
}

export async function* linesIn(source: AsyncIterable<unknown>): AsyncGenerator<Line> {
	let pieces: Buffer[] = [];
	let end = 0;
	for await (const piece of source as AsyncIterable<Buffer>) {
		let from = 0;
		for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, from)) {
			const bytes = Buffer.concat([...pieces, piece.subarray(from, at)]);
			pieces = [];
			from = at + 1;
			end += bytes.length + 1;
			yield { bytes, end, whole: true };
		}
		if (from < piece.length) pieces.push(piece.subarray(from));
	}
	const bytes = Buffer.concat(pieces);
	if (bytes.length > 0) yield { bytes, end: end + bytes.length, whole: false };
}
