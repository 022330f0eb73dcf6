/** Reads streams of platforms in linear time and bounded memory, however the other side cuts them. */

/** Maximum lengths of an answer, a line of JSON, and the text of an error. */
const ANSWER_BYTES = 16 * 1024 * 1024;
const JSON_LINE_BYTES = 4 * 1024 * 1024;
const REFUSAL_BYTES = 64 * 1024;
/** Longer lines and frames are passed on in pieces. */
const PIECE_BYTES = 64 * 1024;

const NEWLINE = 0x0a;
const NOTHING = Buffer.alloc(0);

export interface Piece {
	bytes: Buffer;
	begins: boolean;
	ends: boolean;
}

type Stream = AsyncIterable<Uint8Array>;

/** One block that doubles. Small chunks cause neither quadratic copying nor many objects. */
class HeldBytes {
	size = 0;
	#block = NOTHING;

	add(bytes: Uint8Array): void {
		const size = this.size + bytes.length;
		if (size > this.#block.length) {
			const larger = Buffer.allocUnsafeSlow(Math.max(size, 2 * this.#block.length));
			this.#block.copy(larger, 0, 0, this.size);
			this.#block = larger;
		}
		this.#block.set(bytes, this.size);
		this.size = size;
	}

	take(): Buffer {
		const taken = this.#block.subarray(0, this.size);
		this.#block = NOTHING;
		this.size = 0;
		return taken;
	}
}

/** Ends the stream and throws an Error when it is longer than `most` bytes. `from`: who sends it. */
export async function textOf(stream: Stream, from: string, most = ANSWER_BYTES): Promise<string> {
	const held = new HeldBytes();
	for await (const chunk of stream) {
		if (held.size + chunk.length > most) throw tooLong(from, most);
		held.add(chunk);
	}
	return held.take().toString("utf8");
}

/** Empty if it is too long or breaks off, because the status is known. */
export function refusalText(stream: Stream): Promise<string> {
	return textOf(stream, "", REFUSAL_BYTES).catch(() => "");
}

/** Throws an Error at a line longer than `most` bytes. */
export async function* jsonLines<T>(stream: Stream, from: string, most = JSON_LINE_BYTES): AsyncGenerator<T> {
	for await (const pieces of linesOf(stream, most))
		for (const { bytes, begins, ends } of pieces) {
			if (!begins || !ends) throw tooLong(from, most);
			const text = bytes.toString("utf8").trim();
			if (text !== "") yield JSON.parse(text) as T;
		}
}

/** Lines with their line ends. The last one may lack it. */
export async function* linesOf(stream: Stream, most = PIECE_BYTES): AsyncGenerator<Piece[]> {
	const joined = joiner(most);
	for await (const chunk of stream) {
		let at = 0;
		for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, at)) {
			joined.add(chunk.subarray(at, end + 1), true);
			at = end + 1;
		}
		if (at < chunk.length) joined.add(chunk.subarray(at), false);
		yield joined.take();
	}
	yield joined.end();
}

/** Stream kind, three zeros, length. */
const HEADER_BYTES = 8;

/** Contents of Docker's multiplexed frames. An incomplete last one may be missing. */
export async function* framesOf(stream: Stream): AsyncGenerator<Piece[]> {
	const joined = joiner(PIECE_BYTES);
	const header = new HeldBytes();
	let left = 0;
	for await (const chunk of stream) {
		for (let at = 0; at < chunk.length; ) {
			const part = chunk.subarray(at, at + (left || HEADER_BYTES - header.size));
			at += part.length;
			if (left > 0) joined.add(part, (left -= part.length) === 0);
			else {
				header.add(part);
				if (header.size === HEADER_BYTES) left = header.take().readUInt32BE(4);
			}
		}
		yield joined.take();
	}
}

/** A line or frame longer than `most` bytes is passed on as its parts arrive. */
function joiner(most: number): { add(part: Uint8Array, ends: boolean): void; take(): Piece[]; end(): Piece[] } {
	const held = new HeldBytes();
	let pieces: Piece[] = [];
	let begins = true;

	function add(part: Uint8Array, ends: boolean): void {
		if (!ends && held.size + part.length <= most) return held.add(part);
		let bytes = Buffer.from(part.buffer, part.byteOffset, part.length);
		if (held.size > 0) {
			held.add(part);
			bytes = held.take();
		}
		pieces.push({ bytes, begins, ends });
		begins = ends;
	}

	function take(): Piece[] {
		const taken = pieces;
		pieces = [];
		return taken;
	}

	return {
		add,
		take,
		end() {
			if (held.size > 0 || !begins) add(NOTHING, true);
			return take();
		},
	};
}

function tooLong(from: string, most: number): Error {
	return new Error(
		`${from} sends more than ${most / 1024 ** 2} MiB at once, which is not read: check what answers there`,
	);
}
