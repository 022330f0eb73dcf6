import { expect, it } from "vitest";
import { streamLines } from "./stream-lines.ts";

function printed(...batches: unknown[][]): string[] {
	const lines: string[] = [];
	const stream = streamLines(
		(line) => lines.push(line),
		(json) => lines.push(`chunk ${json}`),
	);
	for (const batch of batches) stream.chunks(batch.map((chunk) => JSON.stringify(chunk)));
	stream.end();
	return lines;
}

it("D36: pieces of a text are joined to lines, which end at line ends and at 100 characters", () => {
	const words = Array.from({ length: 40 }, (_, index) => ({ token: ` word${index}` }));
	expect(printed(["Once ", "upon\na"], [" time"])).toEqual(["Once upon", "a time"]);
	const lines = printed(words);
	expect(lines.every((line) => line.length <= 100)).toBe(true);
	expect(lines.join(" ").trim()).toBe(Array.from({ length: 40 }, (_, index) => `word${index}`).join(" "));
});

it("D36: what OpenAI's API streams is its text; other chunks stand on lines of their own, in order", () => {
	const event = (content: string): string => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
	expect(printed([event("Hel"), event("lo"), "data: [DONE]\n\n"])).toEqual(["Hello"]);
	expect(printed(["one", { step: 1, of: 2 }, "two"])).toEqual(["one", 'chunk {"step":1,"of":2}', "two"]);
});
