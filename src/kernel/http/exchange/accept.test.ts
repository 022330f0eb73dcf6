import { describe, expect, it } from "vitest";
import { prefers, weightOf, weightsIn } from "./accept.ts";

const EVENTS = "text/event-stream";
const JSON_TYPE = "application/json";

describe("Accept", () => {
	it.each<[accept: string | undefined, events: boolean]>([
		[undefined, false],
		["", false],
		["*/*", false],
		["text/*", false],
		["text/event-stream", true],
		["Text/Event-Stream", true],
		["text/event-stream; charset=utf-8", true],
		["application/json, text/event-stream", true],
		["text/event-stream, */*;q=0.8", true],
		["text/event-stream;q=0", false],
		["text/event-stream;q=0.000", false],
		["application/json, text/event-stream;q=0.5", false],
		["text/event-stream;q=0.5, */*", false],
		["application/json;q=0.2, text/event-stream;q=0.9", true],
		["application/json;q=0, */*, text/event-stream;q=0.1", true],
		["text/event-streams", false],
		["x-text/event-stream", false],
		["text/event-stream;q=much", true],
	])("D7: of '%s' events are wanted: %s", (accept, events) => {
		expect(prefers(accept, EVENTS, JSON_TYPE)).toBe(events);
	});

	it("D7: the most specific name decides", () => {
		const weights = weightsIn("text/*;q=0.3, text/html;q=0.7, */*;q=0.1, gzip;q=0.5");
		expect(["text/html", "text/plain", "image/png", "gzip"].map((each) => weightOf(weights, each))).toEqual([
			0.7, 0.3, 0.1, 0.5,
		]);
	});
});
