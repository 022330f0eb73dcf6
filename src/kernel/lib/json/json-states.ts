/**
 * JSON grammar (RFC 8259) in UTF-8 as a byte state table: one lookup per byte; the text may be cut
 * anywhere.
 */

/** No JSON text continues with this byte. */
export const FAULT = 0;
export const START = 1;
const VALUE = 2;
const ELEMENT_OR_END = 3;
const NAME_OR_END = 4;
const NEXT_NAME = 5;
export const COLON = 6;
/** Only white space may follow. */
export const AFTER_TEXT = 7;
export const AFTER_MEMBER = 8;
export const AFTER_ELEMENT = 9;
export const STRING = 10;
const ESCAPE = 11;
/** Four states by the missing digits of a `\u` escape: 12 the last, 15 the first. */
export const HEX = 12;
const MINUS = 16;
export const ZERO = 17;
export const INTEGER = 18;
const POINT = 19;
export const FRACTION = 20;
const EXPONENT = 21;
const EXPONENT_SIGN = 22;
export const EXPONENT_DIGITS = 23;
/** Seven states inside a UTF-8 character: one to three bytes missing, some with narrower bounds. */
export const TAIL = 24;
/** First state inside a word such as `true`. */
const WORD = 32;

/** Table values from here on are scanner actions, not states. */
export const ACTION = 64;
/** A value begins; `STATE_OF_FIRST_BYTE` has the next state. */
export const BEGIN = 64;
export const BEGIN_NAME = 65;
export const END_STRING = 66;
const END_WORD = 67;
/** First byte after a number; must be read again. */
export const END_NUMBER = 68;
export const CLOSE = 69;
/** Last byte of `NaN`, `Infinity` or `-Infinity`. */
export const NOT_A_NUMBER = 70;

/** `NEXT[state * 256 + byte]`: next state, action or `FAULT`. */
export const NEXT = new Uint8Array(ACTION * 256);
export const STATE_OF_FIRST_BYTE = new Uint8Array(256);
export const EXPECTED: string[] = [];

const between = (state: number, first: number, last: number, next: number) =>
	NEXT.fill(next, state * 256 + first, state * 256 + last + 1);
const on = (state: number, characters: string, next: number) => {
	for (const character of characters) NEXT[state * 256 + character.charCodeAt(0)] = next;
};

const SPACE = " \t\n\r";
for (const state of [
	START,
	VALUE,
	ELEMENT_OR_END,
	NAME_OR_END,
	NEXT_NAME,
	COLON,
	AFTER_TEXT,
	AFTER_MEMBER,
	AFTER_ELEMENT,
])
	on(state, SPACE, state);
for (const state of [START, VALUE, ELEMENT_OR_END]) on(state, '{["-0123456789tfnNI', BEGIN);
on(ELEMENT_OR_END, "]", CLOSE);
on(NAME_OR_END, '"', BEGIN_NAME);
on(NAME_OR_END, "}", CLOSE);
on(NEXT_NAME, '"', BEGIN_NAME);
on(COLON, ":", VALUE);
on(AFTER_MEMBER, ",", NEXT_NAME);
on(AFTER_MEMBER, "}", CLOSE);
on(AFTER_ELEMENT, ",", VALUE);
on(AFTER_ELEMENT, "]", CLOSE);

between(STRING, 0x20, 0x7f, STRING);
on(STRING, '"', END_STRING);
on(STRING, "\\", ESCAPE);
on(ESCAPE, '"\\/bfnrt', STRING);
on(ESCAPE, "u", HEX + 3);
for (let digit = 0; digit < 4; digit++)
	on(HEX + digit, "0123456789abcdefABCDEF", digit === 0 ? STRING : HEX + digit - 1);

const [ONE_MORE, TWO_MORE, THREE_MORE, AFTER_E0, AFTER_ED, AFTER_F0, AFTER_F4] = [
	TAIL,
	TAIL + 1,
	TAIL + 2,
	TAIL + 3,
	TAIL + 4,
	TAIL + 5,
	TAIL + 6,
];
between(STRING, 0xc2, 0xdf, ONE_MORE);
between(STRING, 0xe1, 0xef, TWO_MORE);
between(STRING, 0xe0, 0xe0, AFTER_E0);
between(STRING, 0xed, 0xed, AFTER_ED);
between(STRING, 0xf1, 0xf3, THREE_MORE);
between(STRING, 0xf0, 0xf0, AFTER_F0);
between(STRING, 0xf4, 0xf4, AFTER_F4);
between(ONE_MORE, 0x80, 0xbf, STRING);
between(TWO_MORE, 0x80, 0xbf, ONE_MORE);
between(THREE_MORE, 0x80, 0xbf, TWO_MORE);
between(AFTER_E0, 0xa0, 0xbf, ONE_MORE);
between(AFTER_ED, 0x80, 0x9f, ONE_MORE);
between(AFTER_F0, 0x90, 0xbf, TWO_MORE);
between(AFTER_F4, 0x80, 0x8f, TWO_MORE);

const DIGITS = "0123456789";
on(MINUS, DIGITS, INTEGER);
on(MINUS, "0", ZERO);
for (const state of [ZERO, INTEGER, FRACTION, EXPONENT_DIGITS]) on(state, `${SPACE},]}`, END_NUMBER);
for (const state of [ZERO, INTEGER]) on(state, ".", POINT);
for (const state of [ZERO, INTEGER, FRACTION]) on(state, "eE", EXPONENT);
on(INTEGER, DIGITS, INTEGER);
for (const state of [POINT, FRACTION]) on(state, DIGITS, FRACTION);
on(EXPONENT, "+-", EXPONENT_SIGN);
for (const state of [EXPONENT, EXPONENT_SIGN, EXPONENT_DIGITS]) on(state, DIGITS, EXPONENT_DIGITS);

const begins = (characters: string, state: number) => {
	for (const character of characters) STATE_OF_FIRST_BYTE[character.charCodeAt(0)] = state;
};
begins("{", NAME_OR_END);
begins("[", ELEMENT_OR_END);
begins('"', STRING);
begins("-", MINUS);
begins("0", ZERO);
begins("123456789", INTEGER);

EXPECTED[START] = EXPECTED[VALUE] = "a value";
EXPECTED[ELEMENT_OR_END] = 'a value or "]"';
EXPECTED[NAME_OR_END] = 'a member name in double quotes or "}"';
EXPECTED[NEXT_NAME] = "a member name in double quotes";
EXPECTED[COLON] = '":" after the member name';
EXPECTED[AFTER_TEXT] = "the end of the text";
EXPECTED[AFTER_MEMBER] = '"," or "}"';
EXPECTED[AFTER_ELEMENT] = '"," or "]"';
EXPECTED[STRING] = "the closing quote of a string";
EXPECTED[ESCAPE] = 'one of "\\/bfnrtu after a backslash';
EXPECTED.fill("one of the four hexadecimal digits of an escape", HEX, HEX + 4);
EXPECTED[MINUS] = EXPECTED[POINT] = EXPECTED[EXPONENT_SIGN] = "a digit";
EXPECTED[ZERO] = 'the end of a number, ".", or an exponent (numbers have no leading zeros)';
EXPECTED[INTEGER] = EXPECTED[FRACTION] = EXPECTED[EXPONENT_DIGITS] = "the end of a number";
EXPECTED[EXPONENT] = 'a digit, "+" or "-" in an exponent';

let word = WORD;
for (const text of ["true", "false", "null", "NaN", "Infinity"]) {
	begins(text.charAt(0), word);
	if (text === "Infinity") on(MINUS, "I", word);
	for (let at = 1; at < text.length; at++) {
		EXPECTED[word] = `the rest of ${text}`;
		if (at + 1 < text.length) on(word, text.charAt(at), word + 1);
		else on(word, text.charAt(at), text === "NaN" || text === "Infinity" ? NOT_A_NUMBER : END_WORD);
		word++;
	}
}

/**
 * Why a text is invalid (D4, D19). `at`: byte offset of the first invalid byte, of the number's first byte (`digits`,
 * `nan`), or the length of a truncated text.
 */
export type JsonFault = {
	code: "syntax" | "depth" | "digits" | "nan" | "encoding" | "empty";
	at: number;
	message: string;
};

const hex = (byte: number) => `0x${byte.toString(16).toUpperCase().padStart(2, "0")}`;
const inCharacter = (state: number) => state >= TAIL && state < TAIL + 7;

const fault = (code: JsonFault["code"], at: number, message: string): JsonFault => ({ code, at, message });

export function byteFault(state: number, byte: number, at: number): JsonFault {
	const cannotBeginCharacter = (byte >= 0x80 && byte < 0xc2) || byte > 0xf4;
	if (inCharacter(state) || cannotBeginCharacter)
		return fault("encoding", at, `The byte ${hex(byte)} at byte ${at} is not valid UTF-8.`);
	if (state === STRING || (byte < 0x20 && state > STRING && state < HEX + 4))
		return fault(
			"syntax",
			at,
			`The control character ${hex(byte)} at byte ${at} is not allowed in a string: write it as an escape.`,
		);
	if (state === START && at === 0 && byte === 0xef)
		return fault("syntax", at, "Expected a value at byte 0, found the byte 0xEF: a byte order mark is not allowed.");
	const printable = byte > 0x20 && byte < 0x7f;
	const found =
		byte === 0x22 ? "a double quote" : printable ? `"${String.fromCharCode(byte)}"` : `the byte ${hex(byte)}`;
	return fault("syntax", at, `Expected ${EXPECTED[state]} at byte ${at}, found ${found}.`);
}

export function endFault(state: number, at: number): JsonFault {
	if (state === START) return fault("empty", at, "Expected a JSON value, found nothing.");
	if (inCharacter(state))
		return fault("encoding", at, `The text is cut off after ${at} bytes, inside a UTF-8 character.`);
	return fault("syntax", at, `The text is cut off after ${at} bytes, where ${EXPECTED[state]} was expected.`);
}

export function depthFault(maxDepth: number, at: number): JsonFault {
	return fault("depth", at, `Arrays and objects are nested more than ${maxDepth} deep at byte ${at}.`);
}

export function digitsFault(digits: number, maxDigits: number, at: number): JsonFault {
	return fault("digits", at, `The integer at byte ${at} has ${digits} digits, more than the ${maxDigits} allowed.`);
}

/** `length` distinguishes `NaN`, `Infinity` and `-Infinity`. */
export function nanFault(length: number, at: number): JsonFault {
	const word = length === 3 ? "NaN" : length === 8 ? "Infinity" : "-Infinity";
	return fault("nan", at, `${word} at byte ${at} is not JSON, which only has finite numbers.`);
}
