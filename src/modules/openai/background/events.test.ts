import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventReader, type Sent } from "./events.ts";

/** What is read of outputs. */
function read(...outputs: unknown[]): Sent[] {
	const reader = eventReader();
	return [...outputs.flatMap((output) => [...reader.push(JSON.stringify(output))]), ...reader.end()];
}

const event = (type: string, members: object = {}): Sent => ({
	kind: "event",
	type,
	data: JSON.stringify({ type, ...members }),
});

const EVENTS = [
	event("response.created"),
	event("a.delta", { delta: "Größe 😀 \n\n data: x" }),
	event("response.completed"),
];

describe("eventReader", () => {
	it.each(["\n", "\r\n", "\r"])("D58: text that is cut anywhere gives the same events: line ends %j", (end) => {
		const texts = EVENTS.map((each) => `event: x${end}data: ${(each as { data: string }).data}${end}${end}`);
		const text = `: comment${end}${end}${texts.join("")}data: [DONE]${end}${end}`;
		expect(read(text)).toEqual(EVENTS);
		fc.assert(
			fc.property(fc.array(fc.nat(text.length)), (cuts) => {
				const at = [0, ...cuts.toSorted((a, b) => a - b), text.length];
				expect(read(...at.slice(1).map((to, index) => text.slice(at[index], to)))).toEqual(EVENTS);
			}),
		);
	});

	it("D58: values are events without text around them, one by one or in a list, also in the middle of a text", () => {
		const [first, ...others] = EVENTS.map((each) => JSON.parse((each as { data: string }).data) as object);
		expect(read(first, others)).toEqual(EVENTS);
		expect(read('data: {"type":"b"', first, "}\n\n")).toEqual([EVENTS[0], event("b")]);
	});

	it("D58: a response, and failures in each form, are distinguished from events", () => {
		const response = { object: "response", status: "completed" };
		expect(read(response)).toEqual([{ kind: "response", data: JSON.stringify(response) }]);
		const vllm = { object: "error", message: "too long", type: "BadRequestError", param: null, code: 400 };
		for (const failure of [vllm, { error: { ...vllm, object: undefined } }])
			expect(read(failure)).toEqual([{ kind: "failure", failure: expect.objectContaining({ message: "too long" }) }]);
		expect(read({ type: "error", message: "broke" })).toEqual([event("error", { message: "broke" })]);
	});

	it("D58: data of several lines are one event, and what is none is left out", () => {
		expect(read('data: {"type":\ndata: "a"}\n\n')).toEqual([{ kind: "event", type: "a", data: '{"type": "a"}' }]);
		// Otherwise the \n would end the event.
		expect(read('data: {"type":\r', '\ndata: "a"}\r\n\r\n')).toHaveLength(1);
		expect(read("data: {\n\n", "data\n\nid: 7\nretry: 1\n\n", 7, null, { x: 1 }, { type: "two\nlines" })).toEqual([]);
	});

	it("D58: the last event needs no blank line behind it", () => {
		expect(read('data: {"type":"a"}')).toEqual([event("a")]);
		const reader = eventReader();
		expect([...reader.push('"data: {"')]).toEqual([]);
		expect(reader.size).toBe(7);
	});
});
