/**
 * Validates JSON incrementally and locates members of the outermost object without building values
 * (D4, D5).
 */

import { byteFault, depthFault, digitsFault, endFault, type JsonFault, nanFault } from "./json-fault.ts";
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

import { plainEnd } from "./plain-text.ts";

export type { JsonFault } from "./json-fault.ts";

export type JsonKind = "object" | "array" | "string" | "number" | "true" | "false" | "null";

/** Value of a member; byte offsets, `end` excluded. */
export interface JsonMember {
	kind: JsonKind;
	start: number;
	end: number;
}

/**
 * `kind`: of the outermost value. `members`: the last of duplicates, as in `JSON.parse`; no
 * prototype. `ascii`: byte offsets equal string offsets.
 */
export type JsonScan =
	| {
			ok: true;
			kind: JsonKind;
			members: Readonly<Record<string, JsonMember | undefined>>;
			ascii: boolean;
	  }
	| { ok: false; fault: JsonFault };

export interface JsonScanOptions {
	/** Members of the outermost object to find. */
	members: readonly string[];
	/** Maximum depth; the outermost value has depth 1. Default: unlimited (D4: 500). */
	maxDepth?: number;
	/** Maximum digits of an integer. Default: unlimited (D4: 4,000). */
	maxDigits?: number;
}

/** Scans one text. Pieces may be cut anywhere and are not kept. */
export interface JsonScanner {
	/** Ignored after a fault. */
	push(bytes: Uint8Array): void;
	/** The result for the text so far. */
	finish(): JsonScan;
}

/** A scanner for one text (D4, D5, D19). Keeps only names cut by a piece boundary. */
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
	/** State after the current value, and those of the enclosing values, outermost first. */
	let after = AFTER_TEXT;
	let outer = new Uint8Array(64);
	let inName = false;
	let nameAt = 0;
	/** First byte of the latest number, word or string. */
	let scalarAt = 0;
	/** 1 for a negative number. */
	let negative = 0;
	/** The requested member being read. */
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
			if (now === STRING) at = plainEnd(bytes, at);
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
			depth === 0 && (state === ZERO || state === INTEGER || state === FRACTION || state === EXPONENT_DIGITS);
		if ((state !== AFTER_TEXT && !numberEnds) || kind === undefined) return { ok: false, fault: endFault(state, base) };
		return { ok: true, kind, members, ascii };
	};

	return { push, finish };
}

/** Scans a complete text. */
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
