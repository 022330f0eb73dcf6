/** Which files of requests are refused before they are uploaded (D57). */
import { expect, it } from "vitest";
import { linesIn } from "../../../cli/framework/lines.ts";
import { checkLines, firstPath } from "./check-lines.ts";

const PATH = "/v1/chat/completions";
const request = (members: object = {}) => ({ custom_id: "a", method: "POST", url: PATH, body: {}, ...members });
const line = (members: object = {}): string => JSON.stringify(request(members));

/** Arrives in pieces that are cut in the middle of lines. */
const linesFrom = (...texts: string[]) => {
	const bytes = Buffer.from(texts.join("\n"));
	return linesIn(
		(async function* () {
			for (let at = 0; at < bytes.length; at += 50) yield bytes.subarray(at, at + 50);
		})(),
	);
};

it.each<[string, string, string]>([
	["no JSON", '{"custom_id": "b', "it is not JSON: The text is cut off after 16 bytes"],
	["no UTF-8 object", "[1]", "it must be a JSON object."],
	["no custom_id", line({ custom_id: undefined }), "custom_id is missing."],
	["a number as custom_id", line({ custom_id: 7 }), "custom_id must be a string, not 7."],
	["no method", line({ custom_id: "b", method: undefined }), "method is missing."],
	["another method", line({ custom_id: "b", method: "GET" }), 'method must be "POST", not "GET".'],
	["no url", line({ custom_id: "b", url: undefined }), "url is missing."],
	["another url", line({ custom_id: "b", url: "/v1/x" }), `url is "/v1/x", but that of the batch is "${PATH}".`],
	["no body", line({ custom_id: "b", body: undefined }), "body is missing."],
	["a list as body", line({ custom_id: "b", body: [1] }), "body must be a JSON object, not [1]."],
	["a stream", line({ custom_id: "b", body: { stream: true } }), "body.stream must not be true"],
	["a background response", line({ custom_id: "b", body: { background: true } }), "body.background must not be true"],
	["a custom_id again", line(), 'custom_id "a" is that of line 1 too.'],
])("D57: a line with %s is named with its member", async (_, faulty, sentence) => {
	const { faults, requests } = await checkLines(linesFrom(line(), faulty, line({ custom_id: "z" })), undefined);
	expect(faults).toEqual([expect.stringContaining(`Line 2: ${sentence}`)]);
	expect(requests).toBe(3);
});

it("D57: a byte order mark, blank lines, escapes and streams that are off are not refused", async () => {
	const escaped = line({ custom_id: "c", body: { stream: false } })
		.replace('"c"', String.raw`"\u0063"`)
		.replaceAll("/", "\\/");
	const lines = linesFrom(`\ufeff${line()}\r`, "", line({ custom_id: "b", more: 1 }), escaped, " \t\r", "");
	const found = await checkLines(lines, undefined);
	expect(found).toEqual({ path: PATH, requests: 3, faults: [] });
});

it("D57: the path is that of the first line that has one, or the one given, which all lines must have", async () => {
	const lines = () => linesFrom("{}", line({ url: "/v1/a" }), line({ custom_id: "b", url: "/v1/b" }));
	expect(await checkLines(lines(), undefined)).toMatchObject({
		path: "/v1/a",
		faults: [expect.stringContaining("Line 1: custom_id"), expect.stringContaining('Line 3: url is "/v1/b"')],
	});
	expect((await checkLines(lines(), "/v1/b")).faults).toEqual([
		expect.stringContaining("Line 1: custom_id"),
		'Line 2: url is "/v1/a", but that of the batch is "/v1/b".',
	]);
	expect(await firstPath(lines())).toBe("/v1/a");
	expect(await firstPath(linesFrom("", "[]"))).toBeUndefined();
});

it("D57: a line of more than 20 MiB is refused, and ten faults end the check", async () => {
	const large = line({ body: { text: "x".repeat(20 * 2 ** 20) } });
	const { faults } = await checkLines(linesIn([Buffer.from(large)] as never), undefined);
	expect(faults).toEqual([`Line 1: it has ${large.length} bytes, more than 20 MiB.`]);
	const many = await checkLines(linesFrom(...Array.from({ length: 30 }, () => "{}")), undefined);
	expect(many.faults).toHaveLength(11);
	expect(many.faults.slice(-2)).toEqual(["Line 10: custom_id is missing.", "There may be more."]);
});

it("D57: long values are cut", async () => {
	const long = "x".repeat(1000);
	const { faults } = await checkLines(linesFrom(line({ custom_id: long }), line({ custom_id: long })), undefined);
	expect(faults).toEqual([`Line 2: custom_id "${"x".repeat(59)}… is that of line 1 too.`]);
});
