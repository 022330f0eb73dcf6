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
