/** Splits an oversized stream chunk into several (D7, Chunks) in one pass, without recursion or parsed values. */
import { cutString } from "./chunk-string.ts";

export type SplitOutput = { ok: true; pieces: string[] } | { ok: false; reason: string };

/** An open array or object. Its run: the members read so far that still fit into one piece. */
interface Frame {
	object: boolean;
	start: number;
	/** Bytes available to it in a piece, without enclosing brackets and names. */
	room: number;
	/** Quoted name of the current member; -1: none, as for the run. */
	nameStart: number;
	nameEnd: number;
	runStart: number;
	runEnd: number;
	empty: boolean;
}

/** Each piece repeats the enclosing names, so total size is limited to 2 * source + this. */
const REPEATED_BYTES = 16_000_000;
const [QUOTE, COLON, BACKSLASH] = [0x22, 0x3a, 0x5c];
const [BEGIN_ARRAY, END_ARRAY, BEGIN_OBJECT, END_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Bytes read between two yields, about. */
const STRIDE_BYTES = 262_144;

/**
 * Splits valid UTF-8 JSON into pieces of at most `limit` bytes. Yields at intervals to let other work run.
 *
 * Joining the strings, array elements and object members of the pieces gives the output. An element or member too large
 * for one piece is sent in several (`[part]`, `{"name":part}`). In objects a repeated name marks parts, unless the
 * source has duplicates; in arrays, parts look like elements.
 *
 * Fails for a name, number or word over the limit, when the enclosing names and brackets leave too little room, and
 * when all pieces together, with the names that each repeats, exceed twice the source + 16 MB.
 */
export function* splitOutput(source: Uint8Array, limit: number): Generator<void, SplitOutput> {
	if (source.length <= limit) return { ok: true, pieces: [utf8.decode(source)] };
	return yield* new Splitter(source, limit).run();
}

class Splitter {
	readonly #source: Uint8Array;
	readonly #limit: number;
	readonly #allowed: number;
	readonly #piece: Uint8Array;
	readonly #pieces: string[] = [];
	readonly #frames: Frame[] = [];
	#total = 0;
	/** Number of outer frames known to be large; only the innermost may have a run. */
	#settled = 0;
	#reason: string | undefined;

	constructor(source: Uint8Array, limit: number) {
		this.#source = source;
		this.#limit = limit;
		this.#allowed = 2 * source.length + REPEATED_BYTES;
		this.#piece = new Uint8Array(limit);
	}

	*run(): Generator<void, SplitOutput> {
		const source = this.#source;
		const size = source.length;
		let at = 0;
		let pauseAt = STRIDE_BYTES;
		while (at < size && this.#reason === undefined) {
			if (at >= pauseAt) {
				pauseAt = at + STRIDE_BYTES;
				yield;
			}
			const byte = source[at]!;
			const start = at++;
			if (byte === QUOTE) {
				while (at < size && source[at] !== QUOTE) {
					at += source[at] === BACKSLASH ? 2 : 1;
					if (at < pauseAt) continue;
					pauseAt = at + STRIDE_BYTES;
					yield;
				}
				at++;
				const frame = this.#frames.at(-1);
				if (frame !== undefined && frame.object && frame.nameStart < 0) {
					frame.nameStart = start;
					frame.nameEnd = at;
				} else yield* this.#addString(start, at);
			} else if (byte === BEGIN_OBJECT || byte === BEGIN_ARRAY) this.#begin(start, byte === BEGIN_OBJECT);
			else if (byte === END_OBJECT || byte === END_ARRAY) this.#close(at);
			else if (inWord(byte)) {
				while (at < size && inWord(source[at]!)) {
					if (++at < pauseAt) continue;
					pauseAt = at + STRIDE_BYTES;
					yield;
				}
				this.#addWord(start, at);
			}
		}
		return this.#reason === undefined ? { ok: true, pieces: this.#pieces } : { ok: false, reason: this.#reason };
	}

	#copy(start: number, end: number, to: number): number {
		this.#piece.set(this.#source.subarray(start, end), to);
		return to + end - start;
	}

	/** Adds a piece: source bytes between two brackets or quotes (0: none) in `around` frames. */
	#emit(around: number, before: number, start: number, end: number, behind: number): void {
		if (this.#reason !== undefined) return;
		const piece = this.#piece;
		let length = 0;
		for (let at = 0; at < around; at++) {
			const { object, nameStart, nameEnd } = this.#frames[at]!;
			piece[length++] = object ? BEGIN_OBJECT : BEGIN_ARRAY;
			if (!object) continue;
			length = this.#copy(nameStart, nameEnd, length);
			piece[length++] = COLON;
		}
		if (before !== 0) piece[length++] = before;
		length = this.#copy(start, end, length);
		if (behind !== 0) piece[length++] = behind;
		for (let at = around - 1; at >= 0; at--) piece[length++] = this.#frames[at]!.object ? END_OBJECT : END_ARRAY;
		this.#total += length;
		if (this.#total > this.#allowed)
			this.#reason =
				"The output cannot be split: with the names that each repeats, " +
				"its parts would take over twice its size plus 16 MB.";
		else this.#pieces.push(utf8.decode(piece.subarray(0, length)));
	}

	#emitInside(at: number, start: number, end: number): void {
		const { object } = this.#frames[at]!;
		this.#emit(at, object ? BEGIN_OBJECT : BEGIN_ARRAY, start, end, object ? END_OBJECT : END_ARRAY);
	}

	/** Marks all frames as large and emits their runs, outermost first. */
	#settle(): void {
		for (let at = Math.max(0, this.#settled - 1); at < this.#frames.length; at++) {
			const frame = this.#frames[at]!;
			if (frame.runStart < 0) continue;
			this.#emitInside(at, frame.runStart, frame.runEnd);
			frame.runStart = -1;
		}
		this.#settled = this.#frames.length;
	}

	#itemDone(): void {
		const frame = this.#frames.at(-1);
		if (frame === undefined) return;
		frame.nameStart = -1;
		frame.empty = false;
	}

	#roomInside(): number {
		const frame = this.#frames.at(-1);
		if (frame === undefined) return this.#limit;
		return frame.object ? frame.room - 3 - (frame.nameEnd - frame.nameStart) : frame.room - 2;
	}

	#add(start: number, end: number): void {
		const frame = this.#frames.at(-1);
		if (frame === undefined) return this.#emit(0, 0, start, end, 0);
		const itemStart = frame.object ? frame.nameStart : start;
		if (frame.runStart >= 0 && end - frame.runStart + 2 > frame.room) this.#settle();
		if (end - itemStart + 2 > frame.room) {
			this.#settle();
			this.#emit(this.#frames.length, 0, start, end, 0);
		} else {
			if (frame.runStart < 0) frame.runStart = itemStart;
			frame.runEnd = end;
		}
		this.#itemDone();
	}

	*#addString(start: number, end: number): Generator<void, void> {
		const room = this.#roomInside();
		if (end - start <= room) return this.#add(start, end);
		this.#settle();
		const parts = cutString(this.#source, start + 1, end - 1, room - 2);
		let done = room > 2;
		while (done && this.#reason === undefined) {
			const part = parts.next();
			if (part.done) {
				done = part.value;
				break;
			}
			this.#emit(this.#frames.length, QUOTE, ...part.value, QUOTE);
			yield;
		}
		if (!done) this.#reason ??= this.#noRoom(start);
		this.#itemDone();
	}

	#addWord(start: number, end: number): void {
		if (end - start <= this.#roomInside()) return this.#add(start, end);
		this.#reason =
			end - start > this.#limit
				? `The output cannot be split: the number at byte ${start} has ${end - start} bytes, ` +
					`a chunk at most ${this.#limit}.`
				: this.#noRoom(start);
	}

	#noRoom(at: number): string {
		const frame = this.#frames.at(-1);
		const name = frame === undefined || !frame.object ? 0 : frame.nameEnd - frame.nameStart;
		return name > this.#limit
			? `The output cannot be split: the name at byte ${frame?.nameStart} has ${name} bytes, ` +
					`a chunk at most ${this.#limit}.`
			: `The output cannot be split: the names and brackets around the value at byte ${at} leave ` +
					`no room for it in a chunk of ${this.#limit} bytes.`;
	}

	#begin(start: number, object: boolean): void {
		const room = this.#roomInside();
		if (room < 2) this.#reason = this.#noRoom(start);
		else this.#frames.push({ object, start, room, nameStart: -1, nameEnd: -1, runStart: -1, runEnd: -1, empty: true });
	}

	#close(end: number): void {
		const frame = this.#frames.at(-1)!;
		const large = end - frame.start > frame.room;
		if (large) this.#settle();
		if (large && frame.empty) this.#emitInside(this.#frames.length - 1, end, end);
		this.#frames.pop();
		this.#settled = Math.min(this.#settled, this.#frames.length);
		if (large) this.#itemDone();
		else this.#add(frame.start, end);
	}
}

function inWord(byte: number): boolean {
	return (
		byte > 0x2a &&
		byte !== 0x2c &&
		byte !== COLON &&
		byte !== END_ARRAY &&
		byte !== END_OBJECT &&
		byte !== BEGIN_ARRAY &&
		byte !== BEGIN_OBJECT
	);
}
