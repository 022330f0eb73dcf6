/** What is left of values in texts that were cut anywhere. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withoutSecrets } from "./hidden-values.ts";

const TOKEN = "hf_0123456789abcdefghij";
const PEM = "-----BEGIN KEY-----\nplanted-first\nplanted-second\nab==\n-----END KEY-----";
const LONG = Array.from({ length: 500 }, (_, n) => `part-${n}`).join(".");
const VALUES = { TOKEN, PEM, LONG, SHORT: "1234567" };

/** The characters that stand in no value, and in no part of one at the begin or end. */
function plainly(text: string, values: readonly string[]): string {
	const hidden = new Set<number>();
	const hide = (from: number, length: number): void => {
		for (let at = from; at < from + length; at += 1) hidden.add(at);
	};
	for (const value of values) {
		for (let at = 0; at < text.length; at += 1) if (text.startsWith(value, at)) hide(at, value.length);
		for (let length = 8; length <= Math.min(value.length, text.length); length += 1) {
			if (text.startsWith(value.slice(-length))) hide(0, length);
			if (text.endsWith(value.slice(0, length))) hide(text.length - length, length);
		}
		if (text.length >= 8 && value.includes(text)) hide(0, text.length);
	}
	return Array.from(text)
		.filter((_, at) => !hidden.has(at))
		.join("");
}

describe("D22, D47: values of variables and secrets", () => {
	it.each([
		["within a text", `a ${TOKEN} b`, "a [TOKEN] b"],
		["twice, one after the other", `${TOKEN}${TOKEN}`, "[TOKEN][TOKEN]"],
		["of several lines", `key:\n${PEM}\nend`, "key:\n[PEM]\nend"],
		["one line of it", "key: planted-second, no more", "key: [PEM], no more"],
		["longer than what is kept", `x ${LONG} y`, "x [LONG] y"],
		["within JSON", JSON.stringify({ message: PEM }), '{"message":"[PEM]"}'],
		["too short to be a secret", "1234567", "1234567"],
		["a token of a worker", "sluice_worker_0123 and x", "[token] and x"],
		["none", "nothing to hide", "nothing to hide"],
	])("%s", (_, text, expected) => {
		expect(withoutSecrets(text, VALUES)).toBe(expected);
	});

	it.each([
		["the end of a value at its begin", `${TOKEN.slice(5)} b`, "[TOKEN] b"],
		["the begin of a value at its end", `a ${TOKEN.slice(0, -5)}`, "a [TOKEN]"],
		["the end of a value of several lines", `${PEM.slice(25)}\nend`, "[PEM]\nend"],
		["nothing but a part of a value", LONG.slice(1000, 3000), "[LONG]"],
		["both", `${LONG.slice(-900)} and ${LONG.slice(0, 900)}`, "[LONG] and [LONG]"],
		["two values, cut", `${TOKEN.slice(5)}${TOKEN}${TOKEN.slice(0, 9)}`, "[TOKEN][TOKEN][TOKEN]"],
	])("a text that was cut has %s", (_, text, expected) => {
		expect(withoutSecrets(text, VALUES)).toBe(expected);
	});

	it.each([
		["two that share a part", "https://me@db.example.com/secret-path", "[A]"],
		["a line that was trimmed", 'a "quoted": "member" b', "a [B] b"],
		["a name that means something in a replacement", "a planted-value b", "a [$&] b"],
	])("of %s nothing stays", (_, text, expected) => {
		const values = { A: "https://me@db.example.com", A2: "db.example.com/secret-path" };
		const more = { B: '{\n  "quoted": "member"\r\n}\n', "$&": "planted-value" };
		expect(withoutSecrets(text, { ...values, ...more })).toBe(expected);
	});

	it("what is left is what a search for each value alone leaves", () => {
		const letters = fc.constantFrom("a", "b");
		const value = fc.string({ unit: letters, minLength: 8, maxLength: 12 });
		const given = fc.array(value, { minLength: 1, maxLength: 6 }).chain((values) => {
			const cut = fc.tuple(fc.constantFrom(...values), fc.nat(7)).map(([each, from]) => each.slice(from, -from || 12));
			const texts = fc.array(fc.oneof(cut, fc.string({ unit: letters, maxLength: 4 })), { maxLength: 8 });
			return fc.tuple(fc.constant(values), texts);
		});
		const property = fc.property(given, ([values, texts]) => {
			const text = texts.join("");
			const shown = withoutSecrets(text, Object.fromEntries(values.map((each, at) => [`V${at}`, each])));
			expect(shown.replaceAll(/\[V\d\]/g, "")).toBe(plainly(text, values));
		});
		fc.assert(property, { numRuns: 1000 });
	});

	it("a value that is a part of another does not uncover the rest of it", () => {
		const url = `postgres://user:${TOKEN}@database.example.com/name`;
		for (let at = 0; at < url.length - 8; at += 1)
			expect(withoutSecrets(`${url.slice(at)} failed`, { TOKEN, URL: url })).toBe("[URL] failed");
	});

	it("a cut anywhere leaves less than eight characters of a value in a row", () => {
		const text = `${TOKEN} ${LONG}\n${TOKEN}`;
		const pieces = new Set(
			[TOKEN, LONG].flatMap((value) => Array.from({ length: value.length - 7 }, (_, at) => value.slice(at, at + 8))),
		);
		for (let from = 0; from < text.length; from += 37)
			for (const to of [from + 20, from + 500, text.length]) {
				const shown = withoutSecrets(text.slice(from, to), VALUES);
				const windows = Array.from({ length: Math.max(0, shown.length - 7) }, (_, at) => shown.slice(at, at + 8));
				expect(windows.filter((each) => pieces.has(each))).toEqual([]);
			}
	});
});

it("D47: of names with the same value the first one is shown", () => {
	const value = "one-value-of-two-names";
	const hidden = { RUNPOD_SECRET_stored: value, STORED: value };
	expect(withoutSecrets(`STORED=${value}\nand more`, hidden)).toBe("STORED=[RUNPOD_SECRET_stored]\nand more");
});
