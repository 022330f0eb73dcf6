/** Files of `sluice init http --preset`: each way to run the server that they name is one that the service accepts. */
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { PRESETS } from "../../../packages/worker/src/http/mapping-index.ts";
import { readEndpoint } from "../../kernel/launchers/endpoint-settings.ts";
import { presetFiles } from "./init-preset.ts";
import { presetNamed } from "./jobs/http-setting.ts";

/** Settings of the endpoint in a `sluice.yaml`. */
function endpointIn(text: string): unknown {
	return (parse(text) as { endpoints: Record<string, unknown> }).endpoints["mine"];
}

/** Settings with the lines of a comment in place of `http`: those after `first`, to the next empty line or sentence. */
function withComment(text: string, first: RegExp): string {
	const lines = text.split("\n");
	const from = lines.findIndex((line) => first.test(line)) + 1;
	const length = lines.slice(from).findIndex((line) => !/^ {4}# \w+: /.test(line));
	const settings = lines.slice(from, from + length).map((line) => line.replace("# ", ""));
	expect(settings.length).toBeGreaterThan(1);
	return `${lines.filter((line) => /^(?:endpoints| {2}mine):/.test(line)).join("\n")}\n${settings.join("\n")}\n`;
}

describe.each(Object.keys(PRESETS))("sluice init http --preset %s", (name) => {
	const { "sluice.yaml": text, "test_input.json": job } = presetFiles(presetNamed(name), "mine");

	it("D36: its sluice.yaml is an endpoint for a server elsewhere, as it is", () => {
		const read = readEndpoint("mine", endpointIn(text!));
		expect(read).toMatchObject({ ok: true, endpoint: { http: name, launcher: { type: "external" } } });
	});

	it.each([
		["docker", /Sluice starts its image/],
		["process", /a program of this machine/],
	])("D36: its comments are an endpoint with workers of %s", (type, first) => {
		const read = readEndpoint("mine", endpointIn(withComment(text!, first)));
		expect(read).toMatchObject({ ok: true, endpoint: { launcher: { type } } });
	});

	it("D36: its first job has an input", () => {
		expect(JSON.parse(job!)).toEqual({ input: expect.any(Object) });
	});
});
