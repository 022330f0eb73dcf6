import { describe, expect, it } from "vitest";
import { jsonFaultAt } from "./json-fault.ts";

const isJson = (text: string): boolean => {
	try {
		JSON.parse(text);
		return true;
	} catch {
		return false;
	}
};

/** The same numbers in each run: a generator of Park and Miller. */
function numbers(seed: number): (below: number) => number {
	let state = seed;
	return (below) => {
		state = (state * 48_271) % 2_147_483_647;
		return state % below;
	};
}

const TEXTS = [
	...["0", "-0", "01", "-", "1.", ".5", "1e5", "1E+05", "1e", "--1", "+1", "1_0", "0x1", "NaN", "true", "tru", "nulll"],
	...[
		'""',
		'"a',
		'"\\"',
		'"\\u00e9"',
		'"\\u00g9"',
		'"\\u00',
		'"\\x"',
		'"\t"',
		'"\\',
		'"\u2028\ud800"',
		"'a'",
		'"\\/\\b"',
	],
	...["", " ", "[]", "{}", "[ ]", "{ }", "[1,]", "[,1]", "[1 2]", "[1", "]", "{1:2}", '{"a"}', '{"a":}', '{"a":1,}'],
	...['{"a":1 , "b" : [true,{"c":null}]}', '{"a":1}}', '{"a":[1}]', "[[]]", "[]]", "1 2", "1,2", "\u00a01", "\ufeff1"],
	...['\n\r\t {"a":"b"} \n', '{"a":1"b":2}', '[1,"a",]', "[}", "{]", '{"a" 1}', "[1]x"],
];

describe("jsonFaultAt", () => {
	it.each(TEXTS)("%j is JSON exactly if JSON.parse reads it", (text) => {
		expect(jsonFaultAt(text) === undefined).toBe(isJson(text));
	});

	it("agrees with JSON.parse on thousands of texts with a mistake", () => {
		const below = numbers(7);
		const whole = '{"a":[1,-2.5e+3,"\\u00e9\\n",{"b":null,"":[[],{}]}],"c":true , "d":"x"}';
		const units = '{}[]:,"\\ue-+.0129 \ntfn';
		for (let time = 0; time < 20_000; time += 1) {
			const at = below(whole.length);
			const added = below(3) === 0 ? "" : units[below(units.length)]!;
			const text = whole.slice(0, at) + added + whole.slice(at + below(2));
			expect([text, jsonFaultAt(text) === undefined]).toEqual([text, isJson(text)]);
		}
	});

	it("has bounds for what a stack or a number would take, and says where the fault is", () => {
		expect(jsonFaultAt("[".repeat(10_000) + "]".repeat(10_000))).toBeUndefined();
		expect(jsonFaultAt("[".repeat(10_001) + "]".repeat(10_001))).toBe(10_000);
		expect(jsonFaultAt("1".repeat(10_000))).toBeUndefined();
		expect(jsonFaultAt(`[${"1".repeat(10_001)}]`)).toBe(1);
		expect(jsonFaultAt('{"a":1,"b":x}')).toBe(11);
	});
});
