/**
 * What workers post to job-done and job-stream, and what becomes of the job (protocol B.5; D5,
 * D6, D16, D19).
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SdkProtocol } from "../../support/sdk-protocol.ts";
import { bench, type Bench } from "../../support/sdk-worker-bench.ts";

let b: Bench;
let worker: SdkProtocol;
beforeAll(async () => {
	b = await bench();
	worker = await b.worker();
});
afterAll(() => b?.end());

/** A job in the worker's hands. */
async function running(input: object = {}): Promise<string> {
	const id = await b.submit({ input });
	await b.takes(worker, id);
	return id;
}

/** The job after its worker posted this, without the members that every job has. */
async function after(body: unknown): Promise<Record<string, unknown>> {
	const id = await running();
	const { status, text } = await worker.done(id, body);
	expect(status, text).toBe(200);
	const { delayTime: _, executionTime: __, workerId, id: same, ...rest } = await b.status(id);
	expect({ workerId, same }).toEqual({ workerId: worker.id, same: id });
	return rest;
}

describe("B.5: bodies posted to job-done", () => {
	it.each([
		["a string", { output: "text" }],
		["a number", { output: 0 }],
		["a list", { output: [] }],
		["a boolean", { output: false }],
		["null", { output: null }],
		["an object", { output: { image: "…", nested: { "": [1, null] } } }],
		["a request to be restarted", { output: { result: 1 }, stopPod: true }],
		["an error that is null", { output: 1, error: null }],
	])("%s is COMPLETED with that output", async (_, body) => {
		expect(await after(body)).toEqual({ status: "COMPLETED", output: body.output });
	});

	it.each([
		["{}", {}],
		["a request to be restarted alone", { stopPod: true }],
		["{} with spaces", " { } \n"],
	])("%s is COMPLETED without output", async (_, body) => {
		expect(await after(body)).toEqual({ status: "COMPLETED" });
	});

	const raised = JSON.stringify({
		error_type: "<class 'ValueError'>",
		error_message: 'no such "model"',
		error_traceback: "Traceback …\n  File",
		hostname: "unknown",
		worker_id: "w-1",
		runpod_version: "1.12.0",
	});
	it.each([
		["the record of a raised exception, as it is", { error: raised }, raised],
		[
			"the text of a generator that raised",
			{ error: "handler: broke half way \ntraceback: Traceback …" },
			"handler: broke half way \ntraceback: Traceback …",
		],
		["a string with escapes", '{"error": "\\u00e9\\ud83d\\ude00 \\"q\\" \\n"}', 'é😀 "q" \n'],
		["an object, as JSON text", '{"error": {"code": 1.0, "why": ["x"]}}', '{"code": 1.0, "why": ["x"]}'],
		["a list, as JSON text", '{"error": [1, 2]}', "[1, 2]"],
		["a number, as JSON text", '{"error": 18446744073709551615}', "18446744073709551615"],
		["a boolean, as JSON text", '{"error": true}', "true"],
	])("D6: error %s", async (_, body, error) => {
		expect(await after(body)).toEqual({ status: "FAILED", error });
	});

	it("error beside output keeps both", async () => {
		expect(await after({ output: { detail: 7 }, error: "bad seed" })).toEqual({
			status: "FAILED",
			output: { detail: 7 },
			error: "bad seed",
		});
	});

	it("an error beside a request to be restarted", async () => {
		expect(await after({ error: "worn out", stopPod: true })).toEqual({
			status: "FAILED",
			error: "worn out",
		});
	});
});

describe("D6: progress", () => {
	it("shows as output while IN_PROGRESS, the latest value, and goes with the result", async () => {
		const id = await running();
		expect(await b.status(id)).not.toHaveProperty("output");
		for (const step of [1, 2]) {
			expect((await worker.done(id, { status: "IN_PROGRESS", output: { step } })).status).toBe(200);
			expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS", output: { step } });
		}
		await worker.done(id, {});
		const ended = await b.status(id);
		expect(ended).toMatchObject({ status: "COMPLETED" });
		expect(ended).not.toHaveProperty("output");
	});

	it("after the result changes nothing and is 200", async () => {
		const id = await running();
		await worker.done(id, { output: "done" });
		const before = await b.status(id);
		expect((await worker.done(id, { status: "IN_PROGRESS", output: "late" })).status).toBe(200);
		expect(await b.status(id)).toEqual(before);
	});

	it("is no result, whatever else the body holds", async () => {
		const id = await running();
		await worker.done(id, { status: "IN_PROGRESS", output: 1, error: "not yet" });
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS", output: 1 });
		await worker.done(id, {});
	});
});

describe("D19: a result that cannot be stored makes the job FAILED, is answered 200, and is never lost", () => {
	it.each([
		["NaN", '{"output": NaN}'],
		["Infinity", '{"output": {"loss": Infinity}}'],
		["-Infinity", '{"output": [-Infinity]}'],
		["a form", "output=1&x=2"],
		["text cut short", '{"output": [1, 2'],
		["bytes that are not UTF-8", Buffer.from([...Buffer.from('{"output": "'), 0xff, 0xfe, ...Buffer.from('"}')])],
		["two values", '{"output": 1} {"output": 2}'],
		["an array", "[1]"],
		["a bare string", '"done"'],
		["nothing", ""],
	])("%s", async (_, body) => {
		const { error, ...rest } = await after(body);
		expect(rest).toEqual({ status: "FAILED" });
		expect(error).toMatch(new RegExp(`^The worker's result of ${Buffer.byteLength(body)} bytes is not JSON: .+\\.$`));
	});

	it("a chunk that is not JSON fails the job, and the result that follows is dropped", async () => {
		const id = await running();
		expect((await worker.chunk(id, '{"output": NaN}')).status).toBe(200);
		expect(await b.status(id)).toMatchObject({
			status: "FAILED",
			error: expect.stringContaining("not JSON"),
		});
		expect((await worker.done(id, { output: [] }, { stream: true })).status).toBe(200);
		expect(await b.status(id)).toMatchObject({ status: "FAILED" });
	});
});

describe("D5: JSON passes through as text", () => {
	const TEXT =
		'{ "seed": 18446744073709551615, "x": 1.0,"e":1E400, "a": "\\ud83d\\ude00\\/é😀", ' +
		'"a": 2, "__proto__": {"b":-0.0}, "2": 1, "1": 2 }';

	it("input reaches the worker, output and chunks the client, byte for byte", async () => {
		const { text } = await b.call(`run`, { text: `{"input": ${TEXT}}` });
		const { id } = JSON.parse(text) as { id: string };
		const taken = await worker.take();
		expect(taken.text).toBe(`{"id":"${id}","input":${TEXT}}`);
		await worker.chunk(id, `{"output": ${TEXT}}`);
		const streamed = await b.call(`stream/${id}`);
		expect(streamed.text).toBe(`[{"output":${TEXT},"metrics":{}}]`);
		await worker.done(id, ` {"output" : ${TEXT} } `);
		const ended = await b.call(`status/${id}`);
		expect(ended.text).toContain(`,"output":${TEXT},"workerId"`);
	});

	it("members named with escapes count as what they name", async () => {
		const id = await running();
		await worker.done(id, '{"\\u006futput": 5, "err\\u006fr": "no"}');
		expect(await b.status(id)).toMatchObject({ status: "FAILED", output: 5, error: "no" });
	});

	it("a batch holds each input as it was sent", async () => {
		const ids: string[] = [];
		for (const n of [1, 2]) {
			const { json } = await b.call(`run`, { text: `{"input":{"n":${n}.0, "n":${n}.50}}` });
			ids.push(json.id);
		}
		const { text } = await worker.takeBatch({ size: 4 });
		expect(text).toBe(
			`[${ids.map((id, at) => `{"id":"${id}","input":{"n":${at + 1}.0, "n":${at + 1}.50}}`).join(",")}]`,
		);
		for (const id of ids) await worker.done(id, {});
	});
});
