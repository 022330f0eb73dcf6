/** Validates JSON incrementally and locates members of the outermost object without building values (D4, D5). */
import {
	byteFault,
	depthFault,
	digitsFault,
	endFault,
	type JsonFault,
	nanFault,
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
import { NameMatcher } from "./json-name.ts";
import { plainEnd } from "./plain-text.ts";

export type JsonKind = "object" | "array" | "string" | "number" | "true" | "false" | "null";

/** Value of a member; byte offsets, `end` excluded. */
export interface JsonMember {
	kind: JsonKind;
	start: number;
	end: number;
}

/**
 * `kind`: of the outermost value. `members`: the last of duplicates, as in `JSON.parse`. `ascii`: byte offsets equal
 * string offsets.
 */
export type JsonScan =
	| {
			ok: true;
			kind: JsonKind;
			members: Readonly<Record<string, JsonMember | undefined>>;
			ascii: boolean;
			/** With `others`: the first names of other members, as they may be printed. */
			others: readonly string[] | undefined;
	  }
	| { ok: false; fault: JsonFault };

export interface JsonScanOptions {
	members: readonly string[];
	others?: boolean;
	/** Maximum depth; the outermost value has depth 1. Default: unlimited (D4: 500). */
	maxDepth?: number;
	/** Maximum digits of an integer. Default: unlimited (D4: 4,000). */
	maxDigits?: number;
}

/** Scans one text (D4, D5, D19). Pieces may be cut anywhere; only names that a cut divides are kept. */
export class JsonScanner {
	readonly #maxDepth: number;
	readonly #maxDigits: number;
	readonly #names: NameMatcher;
	readonly #members: Record<string, JsonMember | undefined> = Object.create(null);
	#fault: JsonFault | undefined;
	#kind: JsonKind | undefined;
	#ascii = true;
	#base = 0;
	#state = START;
	#depth = 0;
	/** State after the current value, and those of the enclosing values, outermost first. */
	#after = AFTER_TEXT;
	#outer = new Uint8Array(64);
	#inName = false;
	#nameAt = 0;
	/** First byte of the latest number, word or string. */
	#scalarAt = 0;
	#negative = 0;
	#member: string | undefined;
	#memberKind: JsonKind = "null";
	#memberAt = 0;

	constructor({ members, others, maxDepth = Infinity, maxDigits = Infinity }: JsonScanOptions) {
		this.#names = new NameMatcher(members, others);
		this.#maxDepth = maxDepth;
		this.#maxDigits = maxDigits;
	}

	/** Input after a fault is ignored. */
	push(bytes: Uint8Array): void {
		if (this.#fault !== undefined) return;
		const size = bytes.length;
		const base = this.#base;
		let now = this.#state;
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
			if (next === FAULT) this.#fault = byteFault(now, byte, base + at);
			else if (next === NOT_A_NUMBER) this.#fault = nanFault(base + at + 1 - this.#scalarAt, this.#scalarAt);
			else if (next === BEGIN) now = this.#begin(byte, base + at++);
			else if (next === BEGIN_NAME) {
				this.#inName = true;
				this.#nameAt = base + ++at;
				now = STRING;
			} else if (next === END_STRING && this.#inName) {
				if (this.#depth === 1) this.#member = this.#names.match(bytes, Math.max(0, this.#nameAt - base), at);
				this.#inName = false;
				now = COLON;
				at++;
			} else {
				if (next === END_NUMBER) {
					if (now === INTEGER) this.#fault = this.#tooManyDigits(base + at);
				} else {
					at++;
					if (next === CLOSE) this.#after = this.#outer[--this.#depth]!;
				}
				now = this.#after;
				if (this.#depth === 1) this.#endMember(base + at);
			}
			if (this.#fault !== undefined) return;
		}
		if (this.#inName && this.#depth === 1) this.#names.keep(bytes, Math.max(0, this.#nameAt - base), size);
		if (seen >= 0x80) this.#ascii = false;
		this.#state = now;
		this.#base += size;
	}

	finish(): JsonScan {
		const state = this.#state;
		const fault = this.#fault ?? (state === INTEGER ? this.#tooManyDigits(this.#base) : undefined);
		if (fault !== undefined) return { ok: false, fault };
		const numberEnds =
			this.#depth === 0 && (state === ZERO || state === INTEGER || state === FRACTION || state === EXPONENT_DIGITS);
		if ((state !== AFTER_TEXT && !numberEnds) || this.#kind === undefined)
			return { ok: false, fault: endFault(state, this.#base) };
		return { ok: true, kind: this.#kind, members: this.#members, ascii: this.#ascii, others: this.#names.others };
	}

	#begin(byte: number, at: number): number {
		if (this.#depth === 0) this.#kind = kindOf(byte);
		else if (this.#depth === 1 && this.#member !== undefined) {
			this.#memberKind = kindOf(byte);
			this.#memberAt = at;
		}
		if (byte !== 0x7b && byte !== 0x5b) {
			this.#scalarAt = at;
			this.#negative = byte === 0x2d ? 1 : 0;
		} else if (this.#depth >= this.#maxDepth) this.#fault = depthFault(this.#maxDepth, at);
		else {
			if (this.#depth === this.#outer.length) this.#outer = grown(this.#outer);
			this.#outer[this.#depth++] = this.#after;
			this.#after = byte === 0x7b ? AFTER_MEMBER : AFTER_ELEMENT;
		}
		return STATE_OF_FIRST_BYTE[byte]!;
	}

	#endMember(end: number): void {
		if (this.#member !== undefined)
			this.#members[this.#member] = { kind: this.#memberKind, start: this.#memberAt, end };
		this.#member = undefined;
	}

	#tooManyDigits(end: number): JsonFault | undefined {
		const digits = end - this.#scalarAt - this.#negative;
		return digits > this.#maxDigits ? digitsFault(digits, this.#maxDigits, this.#scalarAt) : undefined;
	}
}

export function scanJson(bytes: Uint8Array, options: JsonScanOptions): JsonScan {
	const scanner = new JsonScanner(options);
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
