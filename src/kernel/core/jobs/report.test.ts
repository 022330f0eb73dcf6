/** What posts of workers mean, by the bodies of protocol B.5. */
import { describe, expect, it } from "vitest";
import { errorText, notJson, readReport, type ReportParts, RESULT_LIMIT, startFailureIn, tooLarge } from "./report.ts";

const end = (on: "complete" | "fail", rest: object = {}): object => ({
	kind: "end",
	on,
	restart: false,
	...rest,
});

describe("readReport", () => {
	it.each<[string, ReportParts, object]>([
		["an output", { output: "[1]" }, end("complete", { output: "[1]" })],
		["an output of null", { output: "null" }, end("complete", { output: "null" })],
		["an empty object", {}, end("complete")],
		["an error as text", { error: '"b\\u00e4d"' }, end("fail", { error: "bäd" })],
		["an empty error", { error: '""' }, end("fail", { error: "" })],
		["an error that is an object", { error: '{"a": 1}' }, end("fail", { error: '{"a": 1}' })],
		["an error that is a number", { error: "7" }, end("fail", { error: "7" })],
		["an error of null", { error: "null", output: "1" }, end("complete", { output: "1" })],
		[
			"output and error",
			{ output: '{"detail":7}', error: '"bad"' },
			end("fail", { output: '{"detail":7}', error: "bad" }),
		],
		["a wish for a new start", { output: "1", stopPod: "true" }, end("complete", { output: "1", restart: true })],
		["a wish that is not true", { output: "1", stopPod: '"true"' }, end("complete", { output: "1" })],
		["a progress value", { status: '"IN_PROGRESS"', output: '{"step":1}' }, { kind: "progress", value: '{"step":1}' }],
		["progress without a value", { status: '"IN_PROGRESS"' }, { kind: "progress", value: "null" }],
		[
			"a return",
			{ return: '{"reason":"b\\u00e4d"}', stopPod: "true" },
			{ kind: "return", reason: "bäd", loss: false, restart: true },
		],
		[
			"a return of an attempt as a loss, with an error for services that do not know it",
			{ return: '{"reason":"no","loss":true,"attempt":7,"later":1}', error: '"no"' },
			{ kind: "return", reason: "no", loss: true, attempt: 7, restart: false },
		],
		["a return of null", { return: "null", output: "1" }, end("complete", { output: "1" })],
		["another status", { status: '"COMPLETED"', output: "1" }, end("complete", { output: "1" })],
	])("B.5: %s", (_, parts, expected) => {
		expect(readReport(parts)).toEqual(expected);
	});

	it("D54: a return of more text than any reason needs is not parsed", () => {
		const text = `{"reason":"${"x".repeat(16_384)}"}`;
		expect(() => readReport({ return: text })).toThrow(/return has 16397 characters; at most 16384 are read/);
	});

	it.each<[string, string | undefined, ReturnType<typeof startFailureIn>]>([
		["none", undefined, undefined],
		["a failure of the handler", '{"error_type":"ValueError","error_message":"prestart"}', undefined],
		["a text of the handler", "no prestart_failed", undefined],
		["a text that begins as one", "prestart_failed: no model", undefined],
		["a broken object", '{"event":"prestart_failed"', undefined],
		["only the type of its error", '{"error_type":"PrestartTimeout","error_message":"load took over 60s"}', undefined],
		["more than 64 KiB", JSON.stringify({ event: "prestart_failed", logs: "x".repeat(65_536) }), undefined],
		[
			"a start that failed",
			'{"event":"prestart_failed","error_type":"OSError","error_message":"no\\n model","logs":"..."}',
			{ reason: "its start failed: OSError: no model", isStop: false },
		],
		[
			"a start that took too long",
			'{"event":"prestart_timeout","error_type":"PrestartTimeout","error_message":"load\\u001b[31m took over 60s"}',
			{
				reason: "its start failed: PrestartTimeout: load\ufffd[31m took over 60s",
				isStop: false,
			},
		],
		["nothing else", '{"event":"prestart_failed"}', { reason: "its start failed", isStop: false }],
		[
			"a start that was stopped",
			'{"event":"prestart_cancelled","error_type":"PrestartCancelled"}',
			{ reason: "its start failed: PrestartCancelled", isStop: true },
		],
	])("B.5: the start of a worker in a failure: %s", (_, error, expected) => {
		expect(startFailureIn(error, (text) => text)).toEqual(expected);
	});

	it.each([
		["of RunPod's SDK", `{"error_type":"<class 'OSError'>","error_message":"no\\n model"}`, "OSError: no model"],
		["without a type", '{"error_message":"no model"}', "no model"],
		["of another kind of object", '{"detail":"no model"}', '{"detail":"no model"}'],
		["that is a text", " CUDA out of\tmemory \u0007", "CUDA out of memory \ufffd"],
		["that is empty", "", "it gave no reason"],
		["that is long", "x".repeat(70_000), "x".repeat(500)],
	])("D28: an error in one line: one %s", (_, error, line) => {
		expect(errorText(error, (text) => text)).toBe(line);
	});

	it("D19: a result that cannot be kept is a failure that says its size, the limit and the reason", () => {
		expect(tooLarge(70_000_000)).toMatchObject({
			on: "fail",
			error: expect.stringMatching(/70000000 bytes.*67108864/),
		});
		expect(tooLarge(undefined)).toMatchObject({
			on: "fail",
			error: expect.stringContaining(`over ${RESULT_LIMIT} bytes`),
		});
		expect(notJson("NaN at byte 10.", 14)).toMatchObject({
			on: "fail",
			error: expect.stringMatching(/14 bytes.*NaN at byte 10/),
		});
	});
});
