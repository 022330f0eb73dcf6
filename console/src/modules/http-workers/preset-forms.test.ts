import { describe, expect, it } from "vitest";
import { EXAMPLE_INPUTS } from "../../../../packages/worker/src/http/presets/example-inputs.ts";
import { exampleUrl, type FileSource, inputOf, PRESET_FORMS, textsOf } from "./preset-forms.ts";

const FILE: FileSource = { name: "a.wav", dataUrl: "data:audio/wav;base64,UklGRg==" };

/** A preset's form with the preset's example. */
const formOf = (preset: string) => ({ form: PRESET_FORMS[preset]!, example: EXAMPLE_INPUTS[preset]! });

describe("forms of presets", () => {
	it("D36: each belongs to a preset, and as it first stands it sends the preset's example", () => {
		for (const preset of Object.keys(PRESET_FORMS)) {
			expect(Object.keys(EXAMPLE_INPUTS)).toContain(preset);
			const { form, example } = formOf(preset);
			const url = exampleUrl(form, example);
			expect(url.startsWith("https://")).toBe(form.file !== undefined);
			expect(inputOf({ form, example }, textsOf(form, example), { url }), preset).toEqual(example);
		}
	});

	it("a document is sent as docling takes it", () => {
		expect(inputOf(formOf("docling"), {}, { url: "https://a.example/b.pdf" })).toEqual({
			sources: [{ kind: "http", url: "https://a.example/b.pdf" }],
		});
		expect(inputOf(formOf("docling"), {}, FILE)).toEqual({
			sources: [{ kind: "file", base64_string: "UklGRg==", filename: "a.wav" }],
		});
	});

	it("a sound is a data URL or an address; fields that are empty are left out", () => {
		expect(inputOf(formOf("whisper-asr"), { language: " " }, FILE)).toEqual({ audio: FILE.dataUrl });
		expect(inputOf(formOf("speaches"), { model: "m" }, { url: "https://a.example/b.wav" })).toEqual({
			audio: "https://a.example/b.wav",
			model: "m",
		});
	});

	it("the text to speak is the first field; members that are no texts stay as they are", () => {
		const { form, example } = formOf("speech");
		expect(Object.keys(textsOf(form, example))).toEqual(["input", "model", "voice"]);
		const more = { form, example: { ...example, speed: 1.5 } };
		expect(Object.keys(textsOf(form, more.example))).not.toContain("speed");
		expect(inputOf(more, { ...textsOf(form, more.example), input: "Hi." }, undefined)).toEqual({
			...more.example,
			input: "Hi.",
		});
	});
});
