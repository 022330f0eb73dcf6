import { describe, expect, it } from "vitest";
import { rawJson } from "../raw-json.ts";
import { errorBody, itemError, NotJsonError, progressBody, resultBody, outputBody, thrownText } from "./result-body.ts";
import { kitVersion } from "../version.ts";

describe("B.5: result bodies", () => {
	it.each([
		["text", "x", '{"output":"x"}'],
		["null", null, '{"output":null}'],
		["false", false, '{"output":false}'],
		["a list", [1], '{"output":[1]}'],
		["an object", { a: 1 }, '{"output":{"a":1}}'],
		["undefined", undefined, "{}"],
		["an empty object", {}, "{}"],
		["an error next to output", { error: "bad", detail: 7 }, '{"output":{"detail":7},"error":"bad"}'],
		["only an error", { error: "bad" }, '{"error":"bad"}'],
		["an error of any type", { error: { code: 1 } }, '{"error":{"code":1}}'],
		["a falsy error, dropped", { error: "", a: 1 }, '{"output":{"a":1}}'],
		["refresh_worker", { refresh_worker: true, result: 1 }, '{"output":{"result":1},"stopPod":true}'],
	])("%s", (_name, value, body) => {
		expect(resultBody(value, false)).toBe(body);
	});

	it("adds stopPod to every kind of result when asked to", () => {
		expect(resultBody(1, true)).toBe('{"output":1,"stopPod":true}');
		expect(outputBody("[1]", true)).toBe('{"output":[1],"stopPod":true}');
		expect(errorBody("e", true)).toBe('{"error":"e","stopPod":true}');
	});

	it("D5: splices raw JSON as it is", () => {
		expect(resultBody(rawJson('{"seed": 9223372036854775807}'), false)).toBe(
			'{"output":{"seed": 9223372036854775807}}',
		);
		expect(progressBody(rawJson("1.0"))).toBe('{"status":"IN_PROGRESS","output":1.0}');
		expect(() => rawJson("{")).toThrow(SyntaxError);
	});

	it("says in a sentence that an output is not JSON", () => {
		const cycle: Record<string, unknown> = {};
		cycle.self = cycle;
		for (const value of [1n, cycle, () => 1]) expect(() => resultBody(value, false)).toThrow(NotJsonError);
		expect(() => resultBody({ big: 1n }, false)).toThrow(/cannot be written as JSON.*BigInt/);
	});
});

describe("B.5: errors", () => {
	it("records what was thrown with the members of the SDK", () => {
		const identity = { workerId: "w", hostname: "h" };
		const thrown = JSON.parse(thrownText(new TypeError("no"), identity)) as Record<string, string>;
		expect(thrown).toMatchObject({
			error_type: "TypeError",
			error_message: "no",
			hostname: "h",
			worker_id: "w",
			runpod_version: kitVersion,
		});
		expect(thrown.error_traceback).toContain("result-body.test");
		expect(JSON.parse(thrownText("plain", identity))).toMatchObject({
			error_type: "string",
			error_message: "plain",
		});
		expect(() => thrownText(Object.create(null), identity)).not.toThrow();
	});

	it("a yielded item with a truthy error ends the stream", () => {
		expect(itemError({ error: "e" })).toBe("e");
		expect(itemError({ error: { code: 1 } })).toBe('{"code":1}');
		expect(itemError({ error: null })).toBeUndefined();
		expect(itemError("error")).toBeUndefined();
	});
});
