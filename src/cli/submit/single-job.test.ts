import { afterEach, expect, it, vi } from "vitest";
import type { JobCalls } from "./job-calls.ts";
import { submitOne } from "./single-job.ts";

const { isTTY } = process.stdout;
afterEach(() => {
	process.stdout.isTTY = isTTY;
	vi.restoreAllMocks();
});

it.each([
	[true, "a?52;c;AAAA?b\n"],
	[false, '"a\u009d52;c;AAAA\u009cb"\n'],
])("D36: --stream on a terminal (%s) prints chunks without what could steer it", async (terminal, shown) => {
	const events = 'id: 1\ndata: {"output":"a\u009d52;c;AAAA\u009cb"}\n\nevent: end\ndata: {}\n\n';
	const calls = {
		submit: () => Promise.resolve("id"),
		request: () => Promise.resolve(new Response(events)),
		ended: () => Promise.resolve({ status: "COMPLETED", text: "" }),
	} as unknown as JobCalls;
	process.stdout.isTTY = terminal;
	const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
	expect(await submitOne(calls, { endpoint: "hello", body: "{}", print: "chunks", json: false })).toBe(0);
	expect(write.mock.calls.map(([text]) => String(text)).join("")).toBe(shown);
});

it("D36: of a failed job the stack has the user's frames", async () => {
	const stack = "Error: no model\n    at handler (file:///a/handler.ts:7:3)\n    at run (node:internal/a:1:1)";
	const error = JSON.stringify(JSON.stringify({ error_message: "no model", error_traceback: stack }));
	const calls = {
		submit: () => Promise.resolve("id"),
		ended: () => Promise.resolve({ status: "FAILED", text: "", error }),
	} as unknown as JobCalls;
	const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
	expect(await submitOne(calls, { endpoint: "hello", body: "{}", print: "result", json: false })).toBe(1);
	expect(write.mock.calls.join("")).toBe(
		"Job id is FAILED: Error: no model\n    at handler (file:///a/handler.ts:7:3)\n" +
			"(1 frame of libraries hidden; --json shows them)\n",
	);
});
