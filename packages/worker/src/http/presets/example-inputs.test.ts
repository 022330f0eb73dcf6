/** Each example becomes a request of its preset. What the server makes of it is not known here. */
import { afterEach, expect, it } from "vitest";
import { closeServers, handlerOf, json } from "../../../../../test/support/worker-kit/job-handler.ts";
import { EXAMPLE_INPUTS } from "./example-inputs.ts";
import { PRESETS } from "./index.ts";

afterEach(closeServers);

it("D36: each preset but raw has an example of its input", () => {
	expect(["raw", ...Object.keys(EXAMPLE_INPUTS)].toSorted()).toEqual(Object.keys(PRESETS).toSorted());
});

it.each(Object.entries(EXAMPLE_INPUTS))("D36: %s: its example is sent", async (preset, example) => {
	const input =
		typeof example["audio"] === "string" ? { ...example, audio: "data:audio/wav;base64,UklGRg==" } : example;
	const { run, server } = await handlerOf({ preset }, (_request, response) => json(response, {}, 422));
	expect(await run(input)).toEqual({ error: "HTTP 422: {}" });
	// ComfyUI is asked first whether it has the prompt already.
	const { url, body } = server.received.at(-1)!;
	expect(url).not.toContain("{");
	// A template without its value would leave the member out.
	const text = body.toString();
	for (const value of texts(input))
		expect(url + text).toContain(value === input["audio"] ? "RIFF" : encodedIn(url, value));
});

/** All texts in a value. */
function texts(value: unknown): string[] {
	if (typeof value === "string") return [value];
	return typeof value === "object" && value !== null ? Object.values(value).flatMap(texts) : [];
}

/** As it stands in the path or query, or in a body of JSON or a form. */
function encodedIn(url: string, value: string): string {
	return url.includes(encodeURIComponent(value)) ? encodeURIComponent(value) : value;
}
