/** What is left of values in texts that were cut anywhere. */
import { describe, expect, it } from "vitest";
import { withoutSecrets } from "./hidden-values.ts";

const TOKEN = "hf_0123456789abcdefghij";
const PEM = "-----BEGIN KEY-----\nplanted-first\nplanted-second\nab==\n-----END KEY-----";
const LONG = Array.from({ length: 500 }, (_, n) => `part-${n}`).join(".");
const VALUES = { TOKEN, PEM, LONG, SHORT: "1234567" };

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
