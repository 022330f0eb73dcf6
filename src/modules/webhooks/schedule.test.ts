import { describe, expect, it } from "vitest";
import { stringOf } from "../../kernel/lib/json/json-text.ts";
import { SPECIFIED_SCHEDULE, waitsOf } from "../../kernel/core/webhooks.ts";
import { afterTry, sentBody } from "./schedule.ts";

describe("schedules", () => {
	it("D21: long goes on after the specified attempts, up to a day later", () => {
		const schedule = waitsOf("long");
		const waits = Array.from({ length: 10 }, (_, n) => {
			const { state, dueAt } = afterTry({
				status: 500,
				used: n + 1,
				final: false,
				now: 0,
				schedule,
			});
			return state === "pending" ? dueAt : state;
		});
		expect(waits.slice(0, 3)).toEqual([...SPECIFIED_SCHEDULE, 60_000]);
		expect(waits.slice(-2)).toEqual([86_400_000, "failed"]);
	});

	it("spec 6, D21: short has the specified attempts, a list its own", () => {
		expect(waitsOf("short")).toEqual([10_000, 10_000]);
		expect(waitsOf([1000])).toEqual([1000]);
	});
});

describe("what is sent", () => {
	const blocks = (text: string) => text.split("").map((each) => Buffer.from(each));
	const url = "https://hook.example/x";

	it.each([
		["in text", '{"id":"a"}', '{"n":1.0}'],
		["with a large body", blocks('{"id":"a"}'), '{"n":1.0}'],
		["with a large input", '{"id":"a"}', blocks('{"n":1.0}')],
		["with both", blocks('{"id":"a"}'), blocks('{"n":1.0}')],
	])("D5, D21: %s, the input and the address stand behind the members of the job", (_, body, input) => {
		const end = `"webhook":"${url}"}`;
		expect(stringOf(sentBody(body, { url, input }))).toBe(`{"id":"a","input":{"n":1.0},${end}`);
		expect(stringOf(sentBody(body, { url, input: undefined }))).toBe(`{"id":"a",${end}`);
	});

	it.each([
		["https://me:word@hook.example/x?b=%20", "https://hook.example/x?b=%20"],
		["https://me@hook.example", "https://hook.example/"],
		["HTTPS://Hook.example", "HTTPS://Hook.example"],
	])("D21: of %s the payload has no user and password", (given, shown) => {
		expect(JSON.parse(stringOf(sentBody("{}".replace("}", '"a":1}'), { url: given, input: undefined })))).toEqual({
			a: 1,
			webhook: shown,
		});
	});
});
