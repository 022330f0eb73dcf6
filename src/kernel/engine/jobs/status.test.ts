/** When outputs are read into memory (D41). */
import { expect, it } from "vitest";
import type { JobResult } from "../../core/jobs/job-view.ts";
import { retain, withOutput } from "./status.ts";

const ID = "0190a0b0-0000-7000-8000-000000000001";
const job = { endpoint: "ep", id: ID, state: "COMPLETED" } as JobResult["job"];
const sized: JobResult = { job, outputBytes: 1_000_000 };
const whole: JobResult = { job, output: '"x"' };

/** A store that records what it is asked for. */
function store(): { d: Parameters<typeof withOutput>[0]; asked: string[] } {
	const asked: string[] = [];
	const read = (name: string) => (q: { large?: "size" }) => {
		asked.push(q.large === undefined ? name : `${name}, size`);
		return Promise.resolve(q.large === undefined ? whole : sized);
	};
	return { asked, d: { now: () => 0, store: { jobs: { get: read("get"), retain: read("retain") } } } as never };
}

it("D41: an output is read once it is admitted, and not if it is refused", async () => {
	const { d, asked } = store();
	const admitted = Promise.withResolvers<void>();
	const answer = withOutput(d, sized, () => admitted.promise);
	expect(asked).toEqual([]);
	admitted.resolve();
	expect(await answer).toBe(whole);
	expect(asked).toEqual(["get"]);
	await expect(withOutput(d, sized, () => Promise.reject(new Error("no room")))).rejects.toThrow("no room");
	expect(asked).toEqual(["get"]);
	expect(withOutput(d, whole, () => undefined)).toBe(whole);
	expect(withOutput(d, sized, undefined)).toBe(sized);
});

it("D41: a retention is shortened only once the answer with the output is admitted", async () => {
	const { d, asked } = store();
	const q = { endpoint: "ep", id: ID, retainMs: 1000 };
	await expect(retain(d, { ...q, output: () => Promise.reject(new Error("no room")) })).rejects.toThrow("no room");
	expect(asked).toEqual(["get, size"]);
	expect(await retain(d, { ...q, output: () => Promise.resolve() })).toBe(whole);
	expect(asked).toEqual(["get, size", "get, size", "retain"]);
});
