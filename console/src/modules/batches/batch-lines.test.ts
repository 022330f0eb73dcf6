import { describe, expect, it } from "vitest";
import { errorGroups, requestPath } from "./batch-lines.ts";

const line = (url: unknown, content: unknown = "hello"): string =>
	JSON.stringify({ custom_id: "1", method: "POST", url, body: { messages: [{ role: "user", content }] } });

describe("the path of a batch's requests", () => {
	const picture = [{ type: "image_url", image_url: { url: "https://a.example/b.png" } }];
	it.each<[string, string, string | undefined]>([
		["the url of the first line", `${line("/v1/embeddings")}\n${line("/v1/completions")}\n`, "/v1/embeddings"],
		["of the first that is not empty", `\n \n${line("/v1/embeddings")}`, "/v1/embeddings"],
		["none", `{"custom_id":"1"}\n${line("/v1/completions")}`, undefined],
		["none in the body", `{"body":{"url":"/a"}}`, undefined],
		["a url that is no text", line(7), undefined],
		["no JSON", "custom_id,url", undefined],
		["an empty file", "", undefined],
		["a long line that is cut off", line("/v1/chat/completions", picture).slice(0, -9), "/v1/chat/completions"],
		["a line that is cut off before it", `{"body":{"image_url": {"url": "https://a.example/b.png"`, undefined],
	])("%s", (_name, text, expected) => {
		expect(requestPath({ text, isWhole: false })).toBe(expected);
	});
});

describe("failed requests by code", () => {
	const failed = (error: unknown, response: unknown): string =>
		`${JSON.stringify({ id: "batch_req_1", custom_id: "1", response, error })}\n`;
	const expired = failed({ code: "batch_expired", message: "It expired." }, null);
	const refused = (message: string): string => failed(null, { status_code: 400, body: { error: { message } } });

	it("are counted by the batch's code or the status of the answer, with the first message of each", () => {
		const text = refused("Too long.") + expired + expired + refused("No model.") + expired;
		expect(errorGroups({ text, isWhole: true })).toEqual({
			groups: [
				{ code: "batch_expired", message: "It expired.", count: 3 },
				{ code: "400", message: "Too long.", count: 2 },
			],
			read: 5,
		});
	});

	it("a last line that is cut off is not counted; the last of a whole file is", () => {
		const text = expired + refused("Too long.").trimEnd();
		const counts = [true, false].map((isWhole) => errorGroups({ text, isWhole }).groups.map(({ code }) => code));
		expect(counts).toEqual([["batch_expired", "400"], ["batch_expired"]]);
	});

	it.each<[string, unknown, string | undefined]>([
		["OpenAI's form", { error: { message: "No model." } }, "No model."],
		["an error that is a text", { error: "No model." }, "No model."],
		["a message alone", { message: "No model." }, "No model."],
		["a text", "No model.", undefined],
		["nothing", null, undefined],
	])("the message of an answer: %s", (_name, body, message) => {
		const text = failed(null, { status_code: 500, body });
		expect(errorGroups({ text, isWhole: true }).groups).toEqual([{ code: "500", message, count: 1 }]);
	});
});
