/** Events from pieces of a stream, cut anywhere. */
import fc from "fast-check";
import { expect, it, vi } from "vitest";
import type { StreamEvent } from "./event-stream.ts";

vi.stubGlobal("location", { origin: "http://127.0.0.1:8080", pathname: "/console/" });
const { reader } = await import("./event-stream.ts");

const TEXT =
	'id: 1\ndata: "a"\n\n: waiting\n\nevent: restart\ndata: {}\n\r\nid: 2\ndata: {\ndata:  "b": "c:d"}\r\n\n' +
	"event: none\n\ndata\n\ndata: unfinished";

const EVENTS: StreamEvent[] = [
	{ name: "message", data: '"a"', id: "1" },
	{ name: "restart", data: "{}", id: "1" },
	{ name: "message", data: '{\n "b": "c:d"}', id: "2" },
	{ name: "message", data: "", id: "2" },
];

it("D7: reads names, numbers and lines of events, whatever the pieces", () => {
	fc.assert(
		fc.property(fc.uniqueArray(fc.nat(TEXT.length), { maxLength: 30 }), (cuts) => {
			const events: StreamEvent[] = [];
			const read = reader((event) => events.push(event));
			const ends = [0, ...cuts.toSorted((a, b) => a - b), TEXT.length];
			for (const [index, end] of ends.slice(1).entries()) read(TEXT.slice(ends[index], end));
			expect(events).toEqual(EVENTS);
		}),
	);
});
