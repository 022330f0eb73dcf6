import { describe, expect, it } from "vitest";
import { manualClock } from "../../../../../test/support/worker-kit/http-servers.ts";
import { jobOf, NO_FILES } from "../../../../../test/support/worker-kit/mapping.ts";
import { JobReturn } from "../../job-return.ts";
import { RawJson } from "../../raw-json.ts";
import type { Handler } from "../../types.ts";
import { type JobEnd, withJobEnds } from "./job-end.ts";

/** Runs one job of a handler that takes 40 ms. Returns what it gave, and its ends. */
async function run(handler: Handler, signal = new AbortController().signal) {
	const clock = manualClock();
	const ends: JobEnd[] = [];
	const reporting = withJobEnds(handler, {
		clock,
		hide: (text) => text.replaceAll("s3cret", "***"),
		onJob: (end) => void ends.push(end),
	});
	const context = { signal, workerId: "w", progress: async () => {}, log: () => {}, files: NO_FILES };
	const given: unknown[] = [];
	try {
		const output: unknown = reporting(jobOf({}, { run: 1 }), context);
		clock.advance(40);
		const value = await output;
		if (typeof value === "object" && value !== null && Symbol.asyncIterator in value)
			for await (const chunk of value as AsyncIterable<unknown>) {
				given.push(chunk);
				if ("error" in (chunk as object)) break;
			}
		else given.push(value);
	} catch (error) {
		given.push(error);
	}
	return { given, ends };
}

const END = { id: "sync-7f", ms: 40 };

describe("the end of a job is reported", () => {
	it("with its time, and its output passes unchanged", async () => {
		const output = new RawJson("5");
		const { given, ends } = await run(async () => output);
		expect(given[0]).toBe(output);
		expect(ends).toEqual([{ ...END, outcome: "succeeded", reason: undefined }]);
	});

	it("as failed with its error, without credentials", async () => {
		const { given, ends } = await run(async () => ({ error: "HTTP 401: s3cret" }));
		expect(given).toEqual([{ error: "HTTP 401: s3cret" }]);
		expect(ends).toEqual([{ ...END, outcome: "failed", reason: "HTTP 401: ***" }]);
	});

	it("as returned with its reason, and as failed for an error that is thrown", async () => {
		const back = new JobReturn("no server");
		const returned = await run(async () => Promise.reject(back));
		expect(returned.given).toEqual([back]);
		expect(returned.ends).toEqual([{ ...END, outcome: "returned", reason: "no server" }]);
		const failed = await run(async () => Promise.reject(new Error("unforeseen")));
		expect(failed.ends).toEqual([{ ...END, outcome: "failed", reason: "unforeseen" }]);
	});

	it("as stopped without a reason when the service stopped it", async () => {
		const { ends } = await run(async () => Promise.reject(new Error("aborted")), AbortSignal.abort());
		expect(ends).toEqual([{ ...END, outcome: "stopped", reason: undefined }]);
	});

	it("once for a stream: at its end, its error, its loss", async () => {
		const stream = (...chunks: unknown[]) =>
			async function* () {
				for (const chunk of chunks) {
					if (chunk instanceof Error) throw chunk;
					yield chunk;
				}
			};
		const a = new RawJson('{"a":1}');
		const whole = await run(stream(a, a));
		expect(whole.given).toEqual([a, a]);
		expect(whole.ends).toMatchObject([{ outcome: "succeeded" }]);
		const failed = await run(stream(a, { error: "bad" }, a));
		expect(failed.given).toHaveLength(2);
		expect(failed.ends).toMatchObject([{ outcome: "failed", reason: "bad" }]);
		const lost = await run(stream(a, new JobReturn("cut", { loss: true })));
		expect(lost.given).toHaveLength(2);
		expect(lost.ends).toMatchObject([{ outcome: "returned", reason: "cut" }]);
	});
});
