import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventText } from "./event-text.ts";

const ERROR = '{"error":{"message":"x"}}';
const DONE = "data: [DONE]\n\n";

/** The whole text of a stream with these outputs. */
function whole(...outputs: unknown[]): string {
	const text = eventText();
	return outputs.map((output) => text.chunk(JSON.stringify(output))).join("") + text.end();
}

describe("eventText", () => {
	it("D32: text goes out as the worker produced it, wherever it is cut", () => {
		const said = `data: {"a":"b\u00e9"}\n\n: x\r\n\r\nevent: e\ndata: {}\n\n${DONE}`;
		fc.assert(
			fc.property(fc.array(fc.nat(said.length)), (cuts) => {
				const at = [0, ...cuts.toSorted((a, b) => a - b), said.length];
				expect(whole(...at.slice(1).map((end, index) => said.slice(at[index], end)))).toBe(said);
			}),
		);
	});

	it("D32: an element of a list is an event, and so is any other value, on one line", () => {
		expect(whole([{ a: 1 }, "x"], [], { b: 2 })).toBe(`data: {"a":1}\n\ndata: "x"\n\ndata: {"b":2}\n\n${DONE}`);
		const text = eventText();
		expect(text.chunk('{\n "n": 12345678901234567890,\r\n "f": 1.0}')).toBe(
			'data: {  "n": 12345678901234567890,  "f": 1.0}\n\n',
		);
	});

	it("D32: [DONE] is added where the worker sent none", () => {
		expect(whole()).toBe(DONE);
		expect(whole("data: {}\n\n")).toBe(`data: {}\n\n${DONE}`);
		expect(whole('data: {"text":"data: [DONE]"}\n\n')).toContain(`\n\n${DONE}`);
		expect(whole("data: {}\n\nda", "ta: [DO", "NE]\n", "\n")).toBe(`data: {}\n\n${DONE}`);
		expect(whole("data:[DONE]\r\n\r\n")).toBe("data:[DONE]\r\n\r\n");
	});

	it("an event that the worker left open is ended", () => {
		expect(whole("data: {}")).toBe(`data: {}\n\n${DONE}`);
		expect(whole("data: {}\n")).toBe(`data: {}\n\n${DONE}`);
		expect(whole("data: {}\r")).toBe(`data: {}\r\n\n${DONE}`);
		expect(whole("data: [DONE]")).toBe(DONE);
		expect(whole("data: 1", { a: 1 })).toBe(`data: 1\n\ndata: {"a":1}\n\n${DONE}`);
	});

	it("D32: an error in the middle is an event of its own; half a line before it is left out", () => {
		const text = eventText();
		expect(text.chunk('"data: 1\\n\\ndata: {\\"hal"')).toBe("data: 1\n\n");
		expect(text.fail(ERROR)).toBe(`data: ${ERROR}\n\n`);
		const open = eventText();
		expect(open.chunk('"data: 1\\ndat"')).toBe("data: 1\n");
		expect(open.fail(ERROR)).toBe(`\ndata: ${ERROR}\n\n`);
	});

	it("a comment never stands inside an event", () => {
		const text = eventText();
		expect(text.comment()).toBe(": waiting\n\n");
		text.chunk('"data: 1\\n"');
		expect(text.comment()).toBe("");
		text.chunk('"\\nda"');
		expect(text.comment()).toBe(": waiting\n\n");
	});
});
