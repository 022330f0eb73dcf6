/**
 * Splits an oversized stream chunk into several (D7, Chunks) in one pass, without recursion or
 * parsed values: pieces are slices of the source plus brackets, names and quotes.
 */

import { cutString } from "./chunk-string.ts";

/** The pieces in order, or why the output cannot be split. */
export type SplitOutput = { ok: true; pieces: string[] } | { ok: false; reason: string };

/** An open array or object. Its run holds all its content until it is known to be too large. */
interface Frame {
	object: boolean;
	start: number;
	/** Bytes available to it in a piece, excluding enclosing brackets and names. */
	room: number;
	/** Quoted name of the current member; -1: none. */
	nameStart: number;
	nameEnd: number;
	/** Elements or members of the next piece; -1: none. */
	runStart: number;
	runEnd: number;
	empty: boolean;
}

/** Each piece repeats the enclosing names, so total size is limited to 2 * source + this. */
const REPEATED_BYTES = 16_000_000;
const [QUOTE, COLON, BACKSLASH] = [0x22, 0x3a, 0x5c];
const [BEGIN_ARRAY, END_ARRAY, BEGIN_OBJECT, END_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Approximate bytes read between two yields. */
const STRIDE_BYTES = 262_144;

/**
 * Splits valid UTF-8 JSON into pieces of at most `limit` bytes (one piece if it fits). Yields at
 * intervals so that the caller can do other work.
 *
 * The *join* of the pieces is the output: strings, array elements and object members are
 * concatenated. Strings are never cut inside an escape, a surrogate pair or a UTF-8 character. An
 * element or member too large for one piece is sent alone in successive pieces (`[part]`,
 * `{"name":part}`) and is the join of its parts. In arrays, parts and elements are
 * indistinguishable; in objects a repeated name marks parts, unless the source has duplicates. All
 * other text is kept.
 *
 * Fails for a name, number or word over the limit, and when the enclosing names and brackets leave
 * too little room.
 */
export function* splitOutput(source: Uint8Array, limit: number): Generator<void, SplitOutput> {
	if (source.length <= limit) return { ok: true, pieces: [utf8.decode(source)] };
	const pieces: string[] = [];
	const piece = new Uint8Array(limit);
	const allowed = 2 * source.length + REPEATED_BYTES;
	let total = 0;
	let reason: string | undefined;
	const frames: Frame[] = [];
	/** Number of outer frames known to be large; only the innermost may have a run. */
	let settled = 0;

	const copy = (start: number, end: number, to: number) => {
		piece.set(source.subarray(start, end), to);
		return to + end - start;
	};
	/** Adds a piece: source bytes between two brackets or quotes (0: none) in `around` frames. */
	const emit = (around: number, before: number, start: number, end: number, behind: number) => {
		if (reason !== undefined) return;
		let length = 0;
		for (let at = 0; at < around; at++) {
			const { object, nameStart, nameEnd } = frames[at]!;
			piece[length++] = object ? BEGIN_OBJECT : BEGIN_ARRAY;
			if (!object) continue;
			length = copy(nameStart, nameEnd, length);
			piece[length++] = COLON;
		}
		if (before !== 0) piece[length++] = before;
		length = copy(start, end, length);
		if (behind !== 0) piece[length++] = behind;
		for (let at = around - 1; at >= 0; at--) piece[length++] = frames[at]!.object ? END_OBJECT : END_ARRAY;
		total += length;
		if (total > allowed)
			reason = "The output cannot be split: the names and brackets around its parts would take more than the parts.";
		else pieces.push(utf8.decode(piece.subarray(0, length)));
	};
	const emitRun = (at: number) => {
		const frame = frames[at]!;
		if (frame.runStart < 0) return;
		emit(
			at,
			frame.object ? BEGIN_OBJECT : BEGIN_ARRAY,
			frame.runStart,
			frame.runEnd,
			frame.object ? END_OBJECT : END_ARRAY,
		);
		frame.runStart = -1;
	};
	/** Marks all frames as large and emits their runs, outermost first. */
	const settle = () => {
		for (let at = Math.max(0, settled - 1); at < frames.length; at++) emitRun(at);
		settled = frames.length;
	};
	const itemDone = () => {
		const frame = frames.at(-1);
		if (frame === undefined) return;
		frame.nameStart = -1;
		frame.empty = false;
	};
	const roomInside = () => {
		const frame = frames.at(-1);
		if (frame === undefined) return limit;
		return frame.object ? frame.room - 3 - (frame.nameEnd - frame.nameStart) : frame.room - 2;
	};

	/** Adds a value to its frame's run, to a new run, or as its own piece. */
	const add = (start: number, end: number) => {
		const frame = frames.at(-1);
		if (frame === undefined) return emit(0, 0, start, end, 0);
		const itemStart = frame.object ? frame.nameStart : start;
		if (frame.runStart >= 0 && end - frame.runStart + 2 > frame.room) settle();
		if (end - itemStart + 2 > frame.room) {
			settle();
			emit(frames.length, 0, start, end, 0);
		} else {
			if (frame.runStart < 0) frame.runStart = itemStart;
			frame.runEnd = end;
		}
		itemDone();
	};
	const addString = function* (start: number, end: number): Generator<void, void> {
		const room = roomInside();
		if (end - start <= room) return add(start, end);
		settle();
		const parts = cutString(source, start + 1, end - 1, room - 2);
		let done = room > 2;
		while (done && reason === undefined) {
			const part = parts.next();
			if (part.done) {
				done = part.value;
				break;
			}
			emit(frames.length, QUOTE, ...part.value, QUOTE);
			yield;
		}
		if (!done) reason ??= noRoom(start);
		itemDone();
	};
	const addWord = (start: number, end: number) => {
		if (end - start <= roomInside()) return add(start, end);
		reason =
			end - start > limit
				? `The output cannot be split: the number at byte ${start} has ${end - start} bytes, a chunk at most ${limit}.`
				: noRoom(start);
	};
	const noRoom = (at: number) => {
		const frame = frames.at(-1);
		const name = frame === undefined || !frame.object ? 0 : frame.nameEnd - frame.nameStart;
		if (name > limit)
			return (
				`The output cannot be split: the name at byte ${frame?.nameStart} has ${name} bytes, a ` +
				`chunk at most ${limit}.`
			);
		return (
			`The output cannot be split: the names and brackets around the value at byte ${at} leave ` +
			`no room for it in a chunk of ${limit} bytes.`
		);
	};
	const begin = (start: number, object: boolean) => {
		const room = roomInside();
		if (room < 2) reason = noRoom(start);
		else
			frames.push({
				object,
				start,
				room,
				nameStart: -1,
				nameEnd: -1,
				runStart: -1,
				runEnd: -1,
				empty: true,
			});
	};
	const close = (end: number) => {
		const frame = frames.at(-1)!;
		const large = end - frame.start > frame.room;
		if (large) settle();
		if (large && frame.empty)
			emit(
				frames.length - 1,
				frame.object ? BEGIN_OBJECT : BEGIN_ARRAY,
				end,
				end,
				frame.object ? END_OBJECT : END_ARRAY,
			);
		frames.pop();
		settled = Math.min(settled, frames.length);
		if (large) itemDone();
		else add(frame.start, end);
	};

	const size = source.length;
	let at = 0;
	let pauseAt = STRIDE_BYTES;
	while (at < size && reason === undefined) {
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
			const frame = frames.at(-1);
			if (frame !== undefined && frame.object && frame.nameStart < 0) {
				frame.nameStart = start;
				frame.nameEnd = at;
			} else yield* addString(start, at);
		} else if (byte === BEGIN_OBJECT || byte === BEGIN_ARRAY) begin(start, byte === BEGIN_OBJECT);
		else if (byte === END_OBJECT || byte === END_ARRAY) close(at);
		else if (inWord(byte)) {
			while (at < size && inWord(source[at]!)) {
				if (++at < pauseAt) continue;
				pauseAt = at + STRIDE_BYTES;
				yield;
			}
			addWord(start, at);
		}
	}
	return reason === undefined ? { ok: true, pieces } : { ok: false, reason };
}

/** Part of a number, `true`, `false` or `null`. */
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
