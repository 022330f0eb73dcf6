/** Numbers of tokens in answers of `/openai/*` (D52). */
import { expect, it } from "vitest";
import { usageDetailsIn, usageIn } from "./usage.ts";

it.each([
	['{"choices":[],"usage":{"prompt_tokens":6,"total_tokens":16,"completion_tokens":10}}', { input: 6, output: 10 }],
	[
		'{"usage": {\n "input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 2}}',
		{ input: 1, output: 2 },
	],
	['{"data":[],"usage":{"prompt_tokens":8,"total_tokens":8}}', { input: 8 }],
	[
		'data: {"usage":{"input_tokens":1,"output_tokens":1}}\n\ndata: {"usage":{"input_tokens":1,"output_tokens":2}}\n\n',
		{ input: 1, output: 2 },
	],
	['data: {"usage":null,"x":{"prompt_tokens":5}}\n\n', undefined],
	['{"text":"\\"usage\\":{\\"prompt_tokens\\":9}"}', undefined],
	['{"usage":{"prompt_tokens":-1,"completion_tokens":1.5,"note":"\\"prompt_tokens\\":9"}}', { output: 1 }],
	[`{"usage":{"prompt_tokens":${"9".repeat(20)}}}`, {}],
	["{}", undefined],
])("D52: %s has %j", (text, usage) => expect(usageIn(text)).toEqual(usage));

it("reads which tokens were in a cache, and which were reasoning", () => {
	const usage = {
		...{ prompt_tokens: 9, prompt_tokens_details: { cached_tokens: 4 } },
		...{ completion_tokens: 7, completion_tokens_details: { reasoning_tokens: 5 } },
	};
	expect(usageDetailsIn(JSON.stringify({ usage }))).toEqual({ cached: 4, reasoning: 5 });
	expect(usageDetailsIn("{}")).toEqual({});
});
