import { EXPECTED, HEX, START, STRING, TAIL } from "./json-states.ts";

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
