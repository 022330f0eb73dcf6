import { expect, it } from "vitest";
import { errorText } from "./job-text.ts";

it.each([
	["a sentence", "a sentence"],
	['{"code":400}', '{"code":400}'],
	["[1]", "[1]"],
	[JSON.stringify({ error_type: "<class 'ValueError'>", error_message: "no model" }), "ValueError: no model"],
	[
		JSON.stringify({
			error_message: "no model",
			error_traceback: "Traceback:\n  x\nValueError: no model\n",
		}),
		"Traceback:\n  x\nValueError: no model",
	],
	[
		JSON.stringify({
			error_type: "RangeError",
			error_message: "no model",
			error_traceback: "at f\nat g",
		}),
		"RangeError: no model\nat f\nat g",
	],
])("D36: the error %s is shown as %j", (error, text) => {
	expect(errorText(error)).toBe(text);
});
