import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type JsonScan, JsonScanner, type JsonScanOptions, scanJson } from "./json-scan.ts";

const utf8 = new TextEncoder();
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const noMembers = { members: [] };
const runs = (numRuns: number) => ({ numRuns });

/** Whether the platform's own parser takes these bytes. */
function parses(bytes: Uint8Array): boolean {
	try {
		JSON.parse(strict.decode(bytes));
		return true;
	} catch {
		return false;
	}
}

function inPieces(bytes: Uint8Array, sizes: readonly number[], options: JsonScanOptions): JsonScan {
	const scanner = new JsonScanner(options);
	let at = 0;
	for (const size of sizes) {
		scanner.push(bytes.slice(at, at + size));
		at += size;
	}
	scanner.push(bytes.slice(at));
	return scanner.finish();
}

const codeOf = (text: string | Uint8Array, options: JsonScanOptions = noMembers) => {
	const scan = scanJson(typeof text === "string" ? utf8.encode(text) : text, options);
	return scan.ok ? "ok" : scan.fault.code;
};

const space = fc.stringMatching(/^[ \t\n\r]{0,2}$/);
const stringText = fc
	.array(
		fc.oneof(
			fc.constantFrom("a", "Z9", "é", "\u2028", "語", "😀", "\u007f", "/"),
			fc.stringMatching(/^\\u[0-9a-fA-F]{4}$/),
			fc.stringMatching(/^\\["\\/bfnrt]$/),
		),
	)
	.map((parts) => `"${parts.join("")}"`);
const numberText = fc.stringMatching(/^-?(0|[1-9]\d{0,20})(\.\d{1,3})?([eE][+-]?\d{1,2})?$/);
const { value: valueText } = fc.letrec<{ value: string }>((tie) => {
	const spaced = fc.tuple(space, tie("value"), space).map((parts) => parts.join(""));
	const member = fc
		.tuple(space, stringText, space, spaced)
		.map(([before, name, behind, value]) => `${before}${name}${behind}:${value}`);
	return {
		value: fc.oneof(
			{ depthSize: "small", withCrossShrink: true },
			fc.constantFrom("true", "false", "null", "[]", "{ }", "-0"),
			numberText,
			stringText,
			fc.array(spaced, { maxLength: 4 }).map((items) => `[${items.join(",")}]`),
			fc.array(member, { maxLength: 4 }).map((members) => `{${members.join(",")}}`),
		),
	};
});
const text = fc.tuple(space, valueText, space).map((parts) => parts.join(""));

const interesting = fc.oneof(
	fc.constantFrom(...utf8.encode('{}[]:,"\\-+.0123eEtrufalsn NaNInity\t\n/')),
	fc.constantFrom(0x00, 0x1f, 0x7f, 0x80, 0xbf, 0xc0, 0xc1, 0xc2, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff),
);
const mutated = fc
	.tuple(
		text,
		fc.array(fc.tuple(fc.nat(), interesting, fc.constantFrom("replace", "insert", "delete", "cut")), {
			minLength: 1,
			maxLength: 3,
		}),
	)
	.map(([source, edits]) => {
		const bytes = [...utf8.encode(source)];
		for (const [where, byte, edit] of edits) {
			const at = where % (bytes.length + 1);
			if (edit === "replace") bytes[at] = byte;
			else if (edit === "insert") bytes.splice(at, 0, byte);
			else if (edit === "delete") bytes.splice(at, 1);
			else bytes.splice(at);
		}
		return Uint8Array.from(bytes);
	});

describe("D5: which texts are JSON", () => {
	it("agrees with JSON.parse on JSON texts and returns the kind", () => {
		fc.assert(
			fc.property(fc.oneof(text, fc.json()), (source) => {
				const scan = scanJson(utf8.encode(source), noMembers);
				if (!scan.ok) throw new Error(scan.fault.message);
				const value: unknown = JSON.parse(source);
				expect(scan.kind).toBe(
					value === null
						? "null"
						: Array.isArray(value)
							? "array"
							: typeof value === "boolean"
								? String(value)
								: typeof value,
				);
				expect(scan.ascii).toBe(/^[\0-\x7f]*$/.test(source));
			}),
			runs(2000),
		);
	});

	it("agrees with JSON.parse and a UTF-8 check on damaged texts and on any bytes", () => {
		const anyBytes = fc.oneof(
			mutated,
			fc.array(interesting, { maxLength: 8 }).map((bytes) => Uint8Array.from(bytes)),
			fc.uint8Array({ maxLength: 6 }),
		);
		fc.assert(
			fc.property(anyBytes, (bytes) => {
				expect(scanJson(bytes, noMembers).ok).toBe(parses(bytes));
			}),
			runs(20_000),
		);
	});

	it("agrees with a UTF-8 check on every pair of bytes and every bound of longer characters", () => {
		const edges = [0x22, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff];
		const tails = edges.flatMap((third) => [[third], [third, 0x80], [third, 0xbf], [third, 0xc0]]);
		let different = "";
		for (let lead = 0; lead < 256; lead++) {
			for (let second = 0; second < 256; second++) {
				for (const tail of lead >= 0xc0 && edges.includes(second) ? [[], ...tails] : [[]]) {
					const bytes = Uint8Array.from([0x22, lead, second, ...tail, 0x22]);
					if (scanJson(bytes, noMembers).ok !== parses(bytes)) different += `${bytes.join(" ")}; `;
				}
			}
		}
		expect(different).toBe("");
	});

	it("says the same for every way to cut a text into two, into bytes, and into any pieces", () => {
		const options = { members: ["a", "é", "", "__proto__"], maxDepth: 3, maxDigits: 12 };
		fc.assert(
			fc.property(
				fc.oneof(
					text.map((source) => utf8.encode(source)),
					mutated,
				),
				fc.array(fc.nat(9)),
				(bytes, sizes) => {
					const whole = scanJson(bytes, options);
					for (let at = 0; at <= bytes.length; at++) expect(inPieces(bytes, [at], options)).toEqual(whole);
					expect(
						inPieces(
							bytes,
							[...bytes].map(() => 1),
							options,
						),
					).toEqual(whole);
					expect(inPieces(bytes, sizes, options)).toEqual(whole);
				},
			),
			runs(1000),
		);
	});
});

describe("D5: members of the outermost object", () => {
	const escape = (character: string) =>
		character
			.split("")
			.map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
			.join("");
	const escaped = (name: string, which: readonly boolean[]) =>
		Array.from(name, (character, at) => (which[at] ? escape(character) : character)).join("");
	const wanted = ["input", "webhook", "é", "😀", "__proto__", "constructor", "", "a b"];
	const name = fc.tuple(
		fc.constantFrom(...wanted, "inputs", "inpu", "other", "é".repeat(200)),
		fc.array(fc.boolean(), { minLength: 13, maxLength: 13 }),
	);
	const object = fc.tuple(fc.array(fc.tuple(name, space, space, valueText, space), { maxLength: 7 }), space);

	it("are found by name, escaped or not; the last of duplicates counts; offsets are of the source", () => {
		fc.assert(
			fc.property(object, fc.array(fc.nat(20)), ([entries, around], sizes) => {
				const last = new Map<string, string>();
				const members = entries.map(([[plain, which], before, behind, value, end]) => {
					if (wanted.includes(plain)) last.set(plain, value);
					return `${before}"${escaped(plain, which)}"${behind}:${behind}${value}${end}`;
				});
				const bytes = utf8.encode(`${around}{${members.join(",")}}${around}`);
				for (const scan of [scanJson(bytes, { members: wanted }), inPieces(bytes, sizes, { members: wanted })]) {
					if (!scan.ok) throw new Error(scan.fault.message);
					expect(
						new Map(
							Object.entries(scan.members).map(([key, member]) => [
								key,
								strict.decode(bytes.subarray(member?.start, member?.end)),
							]),
						),
					).toEqual(last);
					for (const key of last.keys()) expect(scan.members[key]?.kind).toBe(scanKind(last.get(key)!));
				}
			}),
			runs(2000),
		);
	});

	const scanKind = (value: string) => {
		const scan = scanJson(utf8.encode(value), noMembers);
		return scan.ok ? scan.kind : undefined;
	};

	it("are not those of objects further inside, nor of objects in an array", () => {
		const members = (source: string) => {
			const scan = scanJson(utf8.encode(source), { members: ["input"] });
			return scan.ok ? { ...scan.members } : scan.fault;
		};
		expect(members('{"a":{"input":1},"b":[{"input":2}]}')).toEqual({});
		expect(members('[{"input":2}]')).toEqual({});
		expect(members('{"input":{"input":1}}')).toEqual({
			input: { kind: "object", start: 9, end: 20 },
		});
	});

	it("have no prototype", () => {
		const scan = scanJson(utf8.encode("{}"), { members: ["constructor"] });
		expect(scan.ok && scan.members["constructor"]).toBe(undefined);
	});

	it("with a backslash in the name of interest match only that name", () => {
		const found = (source: string) => {
			const scan = scanJson(utf8.encode(source), { members: ["a\\n", "Ã©"] });
			return scan.ok ? Object.keys(scan.members) : scan.fault;
		};
		expect(found('{"a\\n":1,"é":2}')).toEqual([]);
		expect(found('{"a\\\\n":1,"Ã©":2}')).toEqual(["a\\n", "Ã©"]);
	});
});

describe("faults", () => {
	const fault = (source: string | Uint8Array, options: JsonScanOptions = noMembers) => {
		const scan = scanJson(typeof source === "string" ? utf8.encode(source) : source, options);
		return scan.ok ? undefined : scan.fault;
	};

	it("D4: nesting over the bound is `depth`, the bound itself is not", () => {
		const nested = (depth: number) => `${'{"a":['.repeat(depth / 2)}${"]}".repeat(depth / 2)}`;
		expect(codeOf(nested(500), { members: [], maxDepth: 500 })).toBe("ok");
		expect(fault(nested(502), { members: [], maxDepth: 500 })).toEqual({
			code: "depth",
			at: 1500,
			message: "Arrays and objects are nested more than 500 deep at byte 1500.",
		});
		expect(codeOf("1", { members: [], maxDepth: 0 })).toBe("ok");
		expect(codeOf("[]", { members: [], maxDepth: 0 })).toBe("depth");
		expect(codeOf(nested(1_000_000))).toBe("ok");
	});

	it("D4: more integer digits than the bound are `digits`; sign, fraction and exponent do not count", () => {
		const options = { members: [], maxDigits: 4000 };
		const digits = "7".repeat(4000);
		for (const fine of [
			digits,
			`-${digits}`,
			`[${digits}]`,
			`${digits}1.5`,
			`[${digits}1.5,${digits}1E1]`,
			`${digits}1e5`,
			`0.${digits}1`,
			`"${digits}1"`,
		])
			expect(codeOf(fine, options)).toBe("ok");
		for (const long of [`${digits}1`, `-${digits}1`, `[${digits}1]`, `{"a":${digits}1}`, ` ${digits}1 `])
			expect(codeOf(long, options)).toBe("digits");
		expect(fault(`[-${digits}1]`, options)).toEqual({
			code: "digits",
			at: 1,
			message: "The integer at byte 1 has 4001 digits, more than the 4000 allowed.",
		});
	});

	it("D19: NaN, Infinity and -Infinity are `nan`, reported by name and place", () => {
		for (const [word, at] of [
			["NaN", 6],
			["Infinity", 6],
			["-Infinity", 6],
		] as const) {
			expect(fault(`{"a": ${word}}`)).toEqual({
				code: "nan",
				at,
				message: `${word} at byte ${at} is not JSON, which only has finite numbers.`,
			});
			expect(codeOf(word)).toBe("nan");
		}
		for (const other of ["nan", "Na", "-NaN", "Inf", "inf", "+Infinity", "Nope"]) expect(codeOf(other)).toBe("syntax");
		expect(codeOf('"NaN Infinity"')).toBe("ok");
	});

	it("distinguish bytes that are not UTF-8 from bytes that JSON does not allow", () => {
		const bytes = (...middle: number[]) => Uint8Array.from([0x22, ...middle, 0x22]);
		for (const middle of [
			[0x80],
			[0xc0, 0x80],
			[0xc3],
			[0xe0, 0x9f, 0x80],
			[0xed, 0xa0, 0x80],
			[0xf0, 0x8f, 0xbf, 0xbf],
			[0xf4, 0x90, 0x80, 0x80],
			[0xff],
		]) {
			expect(codeOf(bytes(...middle))).toBe("encoding");
		}
		expect(codeOf(Uint8Array.from([0xff, 0xfe, 0x7b, 0]))).toBe("encoding");
		expect(codeOf(Uint8Array.from([0x22, 0xe8, 0xaa]))).toBe("encoding");
		expect(codeOf("\uFEFF{}")).toBe("syntax");
		expect(codeOf("é")).toBe("syntax");
		expect(codeOf('"a\nb"')).toBe("syntax");
		expect(codeOf('"\\u00é"')).toBe("syntax");
	});

	it("are sentences with the byte offset", () => {
		const messages: [string, string][] = [
			["", "Expected a JSON value, found nothing."],
			[" \n", "Expected a JSON value, found nothing."],
			["\uFEFF{}", "Expected a value at byte 0, found the byte 0xEF: a byte order mark is not allowed."],
			["{'a':1}", 'Expected a member name in double quotes or "}" at byte 1, found "\'".'],
			['{"é":1,}', 'Expected a member name in double quotes at byte 8, found "}".'],
			["[1 2]", 'Expected "," or "]" at byte 3, found "2".'],
			["[1}", 'Expected "," or "]" at byte 2, found "}".'],
			["[tru]", 'Expected the rest of true at byte 4, found "]".'],
			["input=1", 'Expected a value at byte 0, found "i".'],
			["01", 'Expected the end of a number, ".", or an exponent (numbers have no leading zeros) at byte 1, found "1".'],
			["{} x", 'Expected the end of the text at byte 3, found "x".'],
			['{"a":', "The text is cut off after 5 bytes, where a value was expected."],
			['"a', "The text is cut off after 2 bytes, where the closing quote of a string was expected."],
			['"a\tb"', "The control character 0x09 at byte 2 is not allowed in a string: write it as an escape."],
		];
		for (const [source, message] of messages) expect(fault(source)?.message).toBe(message);
		expect(fault(Uint8Array.from([0x22, 0xff]))).toEqual({
			code: "encoding",
			at: 1,
			message: "The byte 0xFF at byte 1 is not valid UTF-8.",
		});
	});

	it("stay the first one whatever follows", () => {
		const scanner = new JsonScanner(noMembers);
		scanner.push(utf8.encode("[1,,"));
		const first = scanner.finish();
		scanner.push(utf8.encode("NaN"));
		expect(scanner.finish()).toEqual(first);
		expect(first).toMatchObject({ ok: false, fault: { code: "syntax", at: 3 } });
	});
});

it("D4: names of other members of the outermost object are kept: at most 8 of 40 characters, printable ASCII", () => {
	const options = { members: ["input", "policy"], others: true };
	const text =
		'{"webhok":1,"input":{"inner":1},"a b,\u00e9":2,"\\u0070olicy":{},"' + "x".repeat(100) + '":[{"deep":1}]}';
	const bytes = utf8.encode(text);
	const others = ["webhok", "a?b??", "x".repeat(40)];
	for (const sizes of [[], [3], [1, 2, 5, 40, 30], bytes.map(() => 1)])
		expect(inPieces(bytes, [...sizes], options)).toMatchObject({ ok: true, others });
	const many = utf8.encode(`{${Array.from({ length: 50 }, (_, n) => `"n${n}":1`).join(",")}}`);
	expect(scanJson(many, options)).toMatchObject({ others: ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"] });
	expect(scanJson(bytes, { members: [] })).toMatchObject({ ok: true, others: undefined });
});
