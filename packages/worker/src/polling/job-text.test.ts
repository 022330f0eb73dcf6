import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memberText, readJobs } from "./job-text.ts";

describe("readJobs", () => {
	it("D5: gives the input's exact text next to the parsed value", () => {
		const input = '{ "seed" : 9223372036854775807, "x":1.0, "x": 2.50, "s":"\\u00e9 \\"}{", "__proto__":{} }';
		const { jobs, problems } = readJobs(` {"id":"a","note":"\\"input\\":7 {[","input":${input} ,"webhook":"w"}\n`);
		expect(problems).toEqual([]);
		expect(jobs[0]!.inputText).toBe(input);
		expect(jobs[0]!.webhook).toBe("w");
		expect(Object.keys(jobs[0]!)).toEqual(["id", "note", "input", "webhook"]);
	});

	it("D5: finds each input of a list", () => {
		const { jobs } = readJobs('[{"id":"a","input":1.0}, {"input":[1,{"input":2}],"id":"b"},{"id":"c"}]');
		expect(jobs.map((job) => [job.id, job.inputText])).toEqual([
			["a", "1.0"],
			["b", '[1,{"input":2}]'],
			["c", "null"],
		]);
	});

	it("B.3: a single job needs id and input, null allowed; a listed one needs id", () => {
		expect(readJobs('{"id":"a"}').problems).toEqual(["Job has missing field(s): id or input."]);
		expect(readJobs('{"input":1}').jobs).toEqual([]);
		expect(readJobs('{"id":"a","input":null}').jobs[0]!.inputText).toBe("null");
		const listed = readJobs('[{"input":1},{"id":"b","input":2},7]');
		expect(listed.jobs.map((job) => job.id)).toEqual(["b"]);
		expect(listed.problems).toHaveLength(2);
	});

	it("names text that is not JSON", () => {
		expect(readJobs("{").problems[0]).toMatch(/not JSON/);
	});
});

describe("memberText", () => {
	it("agrees with JSON.parse for any object, printed in any way", () => {
		fc.assert(
			fc.property(
				fc.dictionary(fc.string(), fc.jsonValue()),
				fc.jsonValue(),
				fc.constantFrom(0, 1, "\t"),
				(object, input, indent) => {
					const text = JSON.stringify({ ...object, input, last: object }, null, indent);
					const found = memberText(text, 0, "input");
					expect(JSON.parse(found!)).toEqual(JSON.parse(JSON.stringify(input)));
					expect(text).toContain(found);
				},
			),
		);
	});

	it("takes the last of several and reads escaped keys", () => {
		expect(memberText('{"input":1,"inpu\\u0074":22}', 0, "input")).toBe("22");
		expect(memberText("{}", 0, "input")).toBeUndefined();
	});
});
