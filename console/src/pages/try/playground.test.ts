import { describe, expect, it } from "vitest";
import { CHAT_CODE } from "../../values/chat/chat-code.ts";
import { chatBody, messagesOf, pieceOf, rateOf } from "../../values/chat/chat-format.ts";
import { readExact } from "../../text/exact.ts";
import { isPictureInput, pictureFields, pictureInput } from "./picture-form.ts";

const SETTINGS = { model: "m", system: " ", temperature: "", maxTokens: "" };

describe("chats", () => {
	it("empty settings are left to the worker", () => {
		expect(chatBody(SETTINGS, [{ role: "user", content: "hi" }])).toEqual({
			model: "m",
			messages: [{ role: "user", content: "hi" }],
			stream: true,
			stream_options: { include_usage: true },
		});
		const body = chatBody({ ...SETTINGS, system: "Be short.", temperature: "0.5", maxTokens: "many" }, []);
		expect(body).toMatchObject({
			messages: [{ role: "system", content: "Be short." }],
			temperature: 0.5,
			max_tokens: "many",
		});
	});

	it("pieces of a stream, whole answers, and models that reason", () => {
		const said = (choice: object): unknown => pieceOf({ choices: [choice] });
		expect(said({ delta: { content: "a" } })).toEqual({ content: "a", reasoning: "" });
		expect(said({ delta: { reasoning_content: "so" } })).toEqual({ content: "", reasoning: "so" });
		expect(said({ message: { content: "b" } })).toEqual({ content: "b", reasoning: "" });
		expect(said({ text: "c" })).toEqual({ content: "c", reasoning: "" });
		expect(pieceOf({ choices: [] })).toEqual({ content: "", reasoning: "" });
	});

	it("the rate counts from the first token", () => {
		const pace = { firstMs: 1000, totalMs: 3000, tokens: 41, counted: true };
		expect(rateOf(pace)).toBe(20);
		expect(rateOf({ ...pace, tokens: 1 })).toBeUndefined();
		expect(rateOf({ ...pace, firstMs: undefined })).toBeUndefined();
	});

	it("a question without an answer is not sent again: roles alternate", () => {
		const exchange = { question: "q", answer: "a", reasoning: "" };
		expect(messagesOf([{ ...exchange, answer: "" }, exchange])).toEqual([
			{ role: "user", content: "q" },
			{ role: "assistant", content: "a" },
		]);
	});

	it("code holds the request, quoted for its language", () => {
		const body = chatBody(SETTINGS, [{ role: "user", content: `it's "quoted"` }]);
		const place = { base: "https://h.example", endpoint: "ep", body };
		const [curl, python, javascript] = CHAT_CODE.map(({ text }) => text(place));
		expect(curl).toContain(`it'\\''s \\"quoted\\"`);
		expect(curl).toContain("https://h.example/v2/ep/openai/v1/chat/completions");
		expect(python).toContain('base_url="https://h.example/v2/ep/openai/v1"');
		expect(python).toContain(String.raw`it's \"quoted\"`);
		expect(javascript).toContain('baseURL: "https://h.example/v2/ep/openai/v1"');
	});
});

describe("forms for pictures", () => {
	const nested = readExact(
		'{"workflow":{"3":{"class_type":"KSampler","inputs":{"seed":18446744073709551615,"steps":20,"cfg":7.0}},' +
			'"5":{"inputs":{"width":512,"height":768}},"6":{"inputs":{"text":"a cat"}}},"other":[1,2]}',
	);

	it("fields are found wherever they stand, in one order", () => {
		expect(pictureFields(nested).map(({ role, path, value }) => [role, path.join("."), value])).toEqual([
			["prompt", "workflow.6.inputs.text", "a cat"],
			["width", "workflow.5.inputs.width", "512"],
			["height", "workflow.5.inputs.height", "768"],
			["steps", "workflow.3.inputs.steps", "20"],
			["guidance", "workflow.3.inputs.cfg", "7.0"],
			["seed", "workflow.3.inputs.seed", "18446744073709551615"],
		]);
	});

	it("what was typed replaces only its member; everything else stays as it was", () => {
		const input = pictureInput(nested, pictureFields(nested), { prompt: "a dog", width: "640" });
		expect(JSON.stringify(input)).toBe(JSON.stringify(nested).replace("a cat", "a dog").replace("512", "640"));
	});

	it("an input is one of a picture worker if it has a prompt and a size", () => {
		expect(
			[nested, { prompt: "a" }, { prompt: "a", size: "1024x1024" }, { width: 1, height: 1 }].map(isPictureInput),
		).toEqual([true, false, true, false]);
	});
});
