/**
 * Checks JSON text byte by byte as it arrives and finds members of the outermost object, without
 * building any JavaScript value (D4, D5): a caller keeps the bytes and cuts `input` or `output` out
 * of them unchanged.
 */

import { byteFault, depthFault, digitsFault, endFault, nanFault } from "./json-fault.ts";
import type { JsonFault } from "./json-fault.ts";
import { nameMatcher } from "./json-name.ts";
import {
	ACTION,
	AFTER_ELEMENT,
	AFTER_MEMBER,
	AFTER_TEXT,
	BEGIN,
	BEGIN_NAME,
	CLOSE,
	COLON,
	END_NUMBER,
	END_STRING,
	EXPONENT_DIGITS,
	FAULT,
	FRACTION,
	INTEGER,
	NEXT,
	NOT_A_NUMBER,
	START,
	STATE_OF_FIRST_BYTE,
	STRING,
	ZERO,
} from "./json-states.ts";

export type { JsonFault } from "./json-fault.ts";

/** What a JSON value is. */
export type JsonKind = "object" | "array" | "string" | "number" | "true" | "false" | "null";

/**
 * The value of a member: its kind and its bytes, `start` to before `end`, as offsets in the whole
 * text.
 */
export interface JsonMember {
	kind: JsonKind;
	start: number;
	end: number;
}

/**
 * The outcome: the kind of the outermost value, the members asked for that it has (the last one of
 * duplicates, as `JSON.parse` does; no prototype), and whether every byte is ASCII, so that byte
 * offsets are string offsets; or the first fault in the text.
 */
export type JsonScan =
	| {
			ok: true;
			kind: JsonKind;
			members: Readonly<Record<string, JsonMember | undefined>>;
			ascii: boolean;
	  }
	| { ok: false; fault: JsonFault };

/**
 * `members`: names of members of the outermost object to find. `maxDepth`: deepest nesting of
 * arrays and objects, the outermost being 1. `maxDigits`: most digits of a number without fraction
 * and exponent. Both have no limit unless given (D4 has 500 and 4,000).
 */
export interface JsonScanOptions {
	members: readonly string[];
	maxDepth?: number;
	maxDigits?: number;
}

/** Scans one text. The pieces may be cut anywhere, also inside a character, and are not kept. */
export interface JsonScanner {
	/** Reads the next piece. Does nothing after a fault. */
	push(bytes: Uint8Array): void;
	/** The outcome for the text pushed so far, as a whole. */
	finish(): JsonScan;
}

/**
 * A scanner for one text (D4, D5, D19). It holds no text but the first bytes of a name cut by the
 * end of a piece.
 */
export function jsonScanner(options: JsonScanOptions): JsonScanner {
	const { maxDepth = Infinity, maxDigits = Infinity } = options;
	const names = nameMatcher(options.members);
	const members: Record<string, JsonMember | undefined> = Object.create(null);
	let fault: JsonFault | undefined;
	let kind: JsonKind | undefined;
	let ascii = true;
	let base = 0;
	let state = START;
	let depth = 0;
	/** The state after a value here, and those of the arrays and objects around, outermost first. */
	let after = AFTER_TEXT;
	let outer = new Uint8Array(64);
	let inName = false;
	let nameAt = 0;
	/** The first byte of the latest number, word or string. */
	let scalarAt = 0;
	/** 1 for a number that begins with a minus sign. */
	let negative = 0;
	/** The member of interest that is being read. */
	let member: string | undefined;
	let memberKind: JsonKind = "null";
	let memberAt = 0;

	const beginOuter = (byte: number, at: number) => {
		if (depth === 0) kind = kindOf(byte);
		else if (member !== undefined) {
			memberKind = kindOf(byte);
			memberAt = at;
		}
	};
	const endMember = (end: number) => {
		if (member !== undefined) members[member] = { kind: memberKind, start: memberAt, end };
		member = undefined;
	};
	const tooManyDigits = (end: number) => {
		const digits = end - scalarAt - negative;
		return digits > maxDigits ? digitsFault(digits, maxDigits, scalarAt) : undefined;
	};

	const push = (bytes: Uint8Array): void => {
		if (fault !== undefined) return;
		const size = bytes.length;
		let now = state;
		let at = 0;
		let seen = 0;
		while (at < size) {
			if (now === STRING) while (at < size && NEXT[(STRING << 8) | bytes[at]!] === STRING) at++;
			let byte = 0;
			let next = START;
			while (at < size) {
				byte = bytes[at]!;
				next = NEXT[(now << 8) | byte]!;
				if (next >= ACTION || next === FAULT) break;
				seen |= byte;
				now = next;
				at++;
			}
			if (at === size) break;
			if (next === FAULT) {
				fault = byteFault(now, byte, base + at);
				return;
			}
			if (next === BEGIN) {
				if (depth < 2) beginOuter(byte, base + at);
				now = STATE_OF_FIRST_BYTE[byte]!;
				if (byte === 0x7b || byte === 0x5b) {
					if (depth >= maxDepth) {
						fault = depthFault(maxDepth, base + at);
						return;
					}
					if (depth === outer.length) outer = grown(outer);
					outer[depth++] = after;
					after = byte === 0x7b ? AFTER_MEMBER : AFTER_ELEMENT;
				} else {
					scalarAt = base + at;
					negative = byte === 0x2d ? 1 : 0;
				}
				at++;
			} else if (next === BEGIN_NAME) {
				inName = true;
				nameAt = base + ++at;
				now = STRING;
			} else if (next === END_STRING && inName) {
				if (depth === 1) member = names.match(bytes, Math.max(0, nameAt - base), at);
				inName = false;
				now = COLON;
				at++;
			} else if (next === NOT_A_NUMBER) {
				fault = nanFault(base + at + 1 - scalarAt, scalarAt);
				return;
			} else {
				if (next === END_NUMBER) {
					if (now === INTEGER && (fault = tooManyDigits(base + at)) !== undefined) return;
				} else {
					at++;
					if (next === CLOSE) after = outer[--depth]!;
				}
				now = after;
				if (depth === 1) endMember(base + at);
			}
		}
		if (inName && depth === 1) names.keep(bytes, Math.max(0, nameAt - base), size);
		if (seen >= 0x80) ascii = false;
		state = now;
		base += size;
	};

	const finish = (): JsonScan => {
		if (fault !== undefined) return { ok: false, fault };
		if (state === INTEGER) {
			const tooMany = tooManyDigits(base);
			if (tooMany !== undefined) return { ok: false, fault: tooMany };
		}
		const numberEnds =
			depth === 0 &&
			(state === ZERO || state === INTEGER || state === FRACTION || state === EXPONENT_DIGITS);
		if ((state !== AFTER_TEXT && !numberEnds) || kind === undefined)
			return { ok: false, fault: endFault(state, base) };
		return { ok: true, kind, members, ascii };
	};

	return { push, finish };
}

/** Scans a text that is there as a whole. */
export function scanJson(bytes: Uint8Array, options: JsonScanOptions): JsonScan {
	const scanner = jsonScanner(options);
	scanner.push(bytes);
	return scanner.finish();
}

function kindOf(firstByte: number): JsonKind {
	switch (firstByte) {
		case 0x7b:
			return "object";
		case 0x5b:
			return "array";
		case 0x22:
			return "string";
		case 0x74:
			return "true";
		case 0x66:
			return "false";
		case 0x6e:
			return "null";
		default:
			return "number";
	}
}

function grown(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
	const larger = new Uint8Array(bytes.length * 2);
	larger.set(bytes);
	return larger;
}
