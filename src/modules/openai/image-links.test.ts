import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { JobFile, JobFiles } from "../../kernel/engine/job-files.ts";
import { type JsonText, stringOf } from "../../kernel/lib/json/json-text.ts";
import { withLinks } from "./image-links.ts";

const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), randomBytes(3001)]);
const jpeg = Buffer.concat([Buffer.from("ffd8ffe0", "hex"), randomBytes(7)]);

function keeping() {
	const kept: (Omit<JobFile, "pieces"> & { job: string; bytes: Buffer })[] = [];
	const files: JobFiles = {
		async put(job, { pieces, ...file }) {
			kept.push({ job, ...file, bytes: Buffer.concat([...pieces]) });
			return `https://sluice.test/${job}/"${file.name}"`;
		},
	};
	return { kept, files };
}

/** In blocks that cut anywhere. */
function inBlocks(text: string, size: number): Uint8Array[] {
	const bytes = new TextEncoder().encode(text);
	return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.slice(at * size, (at + 1) * size));
}

const base64 = (bytes: Buffer): string => bytes.toString("base64");

describe("D60: response_format url", () => {
	const given = `{"é\\"[{": "]}", "data": [ {"b64_json":"${base64(png)}", "revised_prompt":"a \\\\\\"}"} ,
		{"seed":[{"b64_json":"AAAA"}],"url":null,"b64_json": "${base64(jpeg)}"}], "usage":{"n":9007199254740993}}`;

	it.each([given, ...[1, 7, 1024].map((size) => inBlocks(given, size))] as JsonText[])(
		"stores each picture, and leaves all else as it is",
		async (body) => {
			const { kept, files } = keeping();
			const text = stringOf(await withLinks(body, "job-1", files));
			expect(kept).toEqual([
				{ job: "job-1", name: "1.png", contentType: "image/png", bytes: png },
				{ job: "job-1", name: "2.jpg", contentType: "image/jpeg", bytes: jpeg },
			]);
			const expected = given
				.replace(`{"b64_json":"${base64(png)}"`, () => `{"url":"https://sluice.test/job-1/\\"1.png\\"","b64_json":null`)
				.replace(
					`"url":null,"b64_json": "${base64(jpeg)}"`,
					() => `"url":"https://sluice.test/job-1/\\"2.jpg\\"","b64_json": null`,
				);
			expect(text).toBe(expected);
		},
	);

	it.each([
		'{"data":[{"url":"https://elsewhere.test/1.png"}]}',
		'{"data":[{"url":"https://elsewhere.test/1.png","b64_json":"AAAA"}]}',
		'{"data":[{"b64_json":"not base64!"}]}',
		'{"data":[{"b64_json":""}]}',
		'{"data":[{"b64_json":null}]}',
		'{"data":[["b64_json"]]}',
		'{"data":{"b64_json":"AAAA"}}',
		'[{"b64_json":"AAAA"}]',
		'"b64_json"',
		`{"data":[${'{"b64_json":"AAAA"},'.repeat(100)}{"b64_json":"AAAA"}]}`,
	])("leaves an answer without a picture in base64: %.60s", async (body) => {
		const { kept, files } = keeping();
		expect(stringOf(await withLinks(body, "job-1", files))).toBe(body);
		expect(kept).toEqual([]);
	});

	it("a picture of another kind has no end of its name", async () => {
		const { kept, files } = keeping();
		await withLinks(`{"data":[{"b64_json":"${base64(Buffer.from("picture"))}"}]}`, "job-1", files);
		expect(kept).toMatchObject([{ name: "1", contentType: "application/octet-stream" }]);
	});
});
