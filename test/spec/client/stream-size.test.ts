/** Section 2.7 and 8: the size of chunks and of one answer of /stream. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { call, startService, type TestService } from "../../support/service.ts";
import { endpointsByName, handWorker, type HandWorker, statusOf, submitted } from "../hand-worker.ts";

const LIMIT = 1_000_000;
const unused = endpointsByName(20);
let service: TestService;
let ep: string;
let worker: HandWorker;
let id: string;
beforeAll(async () => {
	service = await startService({ endpoints: unused.settings });
});
beforeEach(async () => {
	ep = unused.next();
	worker = await handWorker(service, ep);
	id = await submitted(service, ep);
	await worker.takeThis(id);
});
afterAll(() => service.end());

/** All chunks' outputs, each within the limit as JSON text. */
async function outputs(): Promise<any[]> {
	const { json } = await call(service.url, `/v2/${ep}/stream/${id}?offset=0`);
	for (const { output, metrics } of json) {
		expect(Buffer.byteLength(JSON.stringify(output))).toBeLessThanOrEqual(LIMIT);
		expect(metrics).toEqual({ m: 1 });
	}
	return json.map(({ output }: { output: unknown }) => output);
}

const post = (output: unknown): Promise<void> => worker.chunk(id, { output, metrics: { m: 1 } });

describe("one chunk", () => {
	it("spec 8, D7: an output of exactly 1,000,000 bytes stays whole; one byte more is split", async () => {
		await post("x".repeat(LIMIT - 2));
		expect(await outputs()).toHaveLength(1);
		await post("y".repeat(LIMIT - 1));
		const [first, ...rest] = await outputs();
		expect(first).toBe("x".repeat(LIMIT - 2));
		expect(rest.length).toBeGreaterThan(1);
		expect(rest.join("")).toBe("y".repeat(LIMIT - 1));
	});

	it("D7: a long string is split into strings, never inside an escape or a character", async () => {
		const text = 'é😀"\\\n\u0001'.repeat(200_000);
		await post(text);
		const pieces = await outputs();
		expect(pieces.length).toBeGreaterThan(1);
		for (const piece of pieces) expect((piece as string).isWellFormed()).toBe(true);
		expect(pieces.join("")).toBe(text);
	});

	it("D7: an array is split by elements, an object by members", async () => {
		const array = Array.from({ length: 40 }, (_, index) => `${index}`.padEnd(60_000, "x"));
		await post(array);
		expect((await outputs()).flat()).toEqual(array);
		const object = Object.fromEntries(array.map((value, index) => [`k${index}`, value]));
		await post(object);
		const [...pieces] = await outputs();
		expect(Object.assign({}, ...pieces.filter((piece) => !Array.isArray(piece)))).toEqual(object);
	});

	it("D7: a member too large alone is split under its key", async () => {
		await post({ text: "z".repeat(2_500_000), after: 1 });
		const pieces = await outputs();
		expect(pieces.map(({ text }) => text ?? "").join("")).toBe("z".repeat(2_500_000));
		expect(pieces.at(-1)).toMatchObject({ after: 1 });
	});

	it("D7: only a literal that cannot be cut fails the job, and says why", async () => {
		await worker.chunk(id, `{"output":{"a":${"9".repeat(LIMIT + 1)}}}`);
		expect(await statusOf(service, ep, id)).toMatchObject({
			status: "FAILED",
			error: expect.stringMatching(/chunk.*1000000/),
		});
	});

	it.each(['{"output":NaN}', "not JSON", "", "[1]", '"x"'])(
		"D19: the chunk %j is answered 200 and fails the job with the reason",
		async (text) => {
			await worker.chunk(id, text);
			expect(await statusOf(service, ep, id)).toMatchObject({
				status: "FAILED",
				error: expect.stringContaining("not JSON"),
			});
		},
	);
});

describe("one answer", () => {
	it("D7: holds at most 16 MB of chunks; the state stays IN_PROGRESS while more remain", async () => {
		const [count, size] = [20, 900_000];
		for (let index = 0; index < count; index += 1) await worker.chunk(id, { output: `${index}`.padEnd(size, "x") });
		await worker.done(id, { output: [] });
		const seen: string[] = [];
		const states: string[] = [];
		for (let offset = 0; states.at(-1) !== "COMPLETED"; ) {
			const byOffset = await call(service.url, `/v2/${ep}/stream/${id}?offset=${offset}`);
			const { json, text, headers } = await call(service.url, `/sdk/v2/${ep}/stream/${id}`);
			expect(byOffset.json).toEqual(json.stream);
			expect(byOffset.headers.get("sluice-job-status")).toBe(json.status);
			expect(headers.get("sluice-job-status")).toBe(json.status);
			expect(text.length).toBeLessThan(16 * 1024 * 1024 + 1000);
			offset = Number(headers.get("sluice-next-offset"));
			states.push(json.status);
			seen.push(...json.stream.map(({ output }: { output: string }) => output.slice(0, output.indexOf("x"))));
		}
		expect(states).toEqual(["IN_PROGRESS", "COMPLETED"]);
		expect(seen).toEqual(Array.from({ length: count }, (_, index) => `${index}`));
		expect((await call(service.url, `/sdk/v2/${ep}/stream/${id}`)).json).toEqual({
			status: "COMPLETED",
			stream: [],
		});
	});
});
