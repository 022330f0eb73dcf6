import { afterEach, describe, expect, it, vi } from "vitest";
import { scriptedService, type ScriptedService } from "../../../../test/support/worker-kit/scripted-service.ts";
import { startWorker } from "../../../../test/support/worker-kit/run-worker.ts";
import { rawJson } from "../raw-json.ts";
import { StreamOutput } from "../stream-output.ts";
import type { StartOptions } from "../types.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
	for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function working(options: StartOptions, prepare: (service: ScriptedService) => void = () => {}) {
	const service = await scriptedService();
	prepare(service);
	const worker = startWorker(service, options);
	cleanups.push(() => worker.stop().then(() => service.down()));
	const reported = (count = 1) => service.until((one) => one.route === "job-done", count);
	return { service, worker, reported };
}

const job = { id: "job-1", input: { n: 2 } };

describe("B.5: what is posted", () => {
	it("a result, once, to the job's own address", async () => {
		const { service, reported } = await working({
			handler: async ({ input }) => ({ twice: input.n * 2 }),
		});
		service.give(job);
		const post = await reported();
		expect(post).toMatchObject({
			method: "POST",
			ids: ["w-1", "job-1"],
			query: { gpu: "none", isStream: "false" },
			body: '{"output":{"twice":4}}',
		});
		expect(post.headers).toMatchObject({
			"content-type": "application/json",
			authorization: "worker-key",
		});
		await service.until((one) => one.route === "job-take" && one.query.job_in_progress === "0", 2);
		expect(service.results()).toHaveLength(1);
	});

	it("a synchronous handler's value, and other members of the job", async () => {
		const { service, reported } = await working({ handler: (given) => [given.id, given.s3Config] });
		service.give({ ...job, s3Config: { bucketName: "b" } });
		expect((await reported()).body).toBe('{"output":["job-1",{"bucketName":"b"}]}');
	});

	it("D5: an input's text goes through unchanged", async () => {
		const { service, reported } = await working({
			handler: async (given) => rawJson(given.inputText),
		});
		service.give('{"id":"a","input":{"seed":9223372036854775807,"x":1.0}}');
		expect((await reported()).body).toBe('{"output":{"seed":9223372036854775807,"x":1.0}}');
	});

	it("a thrown error, as JSON text", async () => {
		const { service, reported } = await working({
			handler: () => Promise.reject(new RangeError("no such model")),
		});
		service.give(job);
		const { error } = JSON.parse((await reported()).body) as { error: string };
		expect(JSON.parse(error)).toMatchObject({
			error_type: "RangeError",
			error_message: "no such model",
			worker_id: "w-1",
		});
	});

	it("an error for an output that is no JSON", async () => {
		const { service, reported } = await working({ handler: () => ({ big: 1n }) });
		service.give(job);
		expect((await reported()).body).toMatch(/^\{"error":"The handler's output cannot be written as JSON: .*BigInt/);
	});

	it("progress before the result, on job-done", async () => {
		const { service, reported } = await working({
			handler: async (_job, { progress }) => {
				await progress({ step: 1 });
				await progress(1n);
				return "done";
			},
		});
		service.give(job);
		await reported(2);
		expect(service.results()).toEqual(['{"status":"IN_PROGRESS","output":{"step":1}}', '{"output":"done"}']);
	});

	it("stopPod with refreshWorker, and the worker ends", async () => {
		const { service, worker } = await working({ handler: () => 1, refreshWorker: true });
		service.give(job);
		await worker.done;
		expect(service.results()).toEqual(['{"output":1,"stopPod":true}']);
	});
});

describe("B.5: generators", () => {
	async function* words() {
		yield { text: "a" };
		yield { text: "b" };
		yield rawJson("1.0");
	}

	it("post their chunks in order with numbers, then an empty list", async () => {
		const { service, reported } = await working({ handler: words });
		service.give(job);
		expect(await reported()).toMatchObject({ query: { isStream: "true" }, body: '{"output":[]}' });
		expect(service.of("job-stream").map((one) => [one.query.chunk, one.query.isStream, one.body])).toEqual([
			["0", "false", '{"output":{"text":"a"}}'],
			["1", "false", '{"output":{"text":"b"}}'],
			["2", "false", '{"output":1.0}'],
		]);
	});

	it("D7: name the attempt in posts of chunks, if the service numbers it", async () => {
		const { service, reported } = await working({ handler: words });
		service.give({ ...job, attempt: 3 });
		await reported();
		expect(service.of("job-stream").map((one) => [one.query.chunk, one.query.attempt])).toEqual(
			["0", "1", "2"].map((chunk) => [chunk, "3"]),
		);
	});

	it("ask for the next chunk only after the answer to the one before", async () => {
		let produced = 0;
		const { service, reported } = await working(
			{
				handler: function* () {
					for (; produced < 3; produced += 1) yield produced;
				},
			},
			(one) => {
				one.script = (seen, response) => {
					if (seen.route !== "job-stream") return false;
					const chunk = Number(seen.query.chunk);
					setTimeout(() => {
						expect(produced).toBe(chunk);
						response.end();
					}, 20);
					return true;
				};
			},
		);
		service.give(job);
		await reported();
		expect(service.of("job-stream").map((one) => one.query.chunk)).toEqual(["0", "1", "2"]);
	});

	it("give the list of all chunks when aggregated", async () => {
		const { service, reported } = await working({ handler: words, aggregate: true });
		service.give(job);
		expect((await reported()).body).toBe('{"output":[{"text":"a"},{"text":"b"},1.0]}');
	});

	it("give the output that they yield last", async () => {
		const { service, reported } = await working({
			handler: async function* () {
				yield "a";
				yield new StreamOutput('{"text":"a"}');
			},
			aggregate: true,
		});
		service.give(job);
		expect(await reported()).toMatchObject({ query: { isStream: "true" }, body: '{"output":{"text":"a"}}' });
		expect(service.of("job-stream").map((one) => one.body)).toEqual(['{"output":"a"}']);
	});

	it("that throw half way post what they had, then the error", async () => {
		const { service, reported } = await working({
			handler: async function* () {
				yield "first";
				throw new Error("broke half way");
			},
		});
		service.give(job);
		const post = await reported();
		expect(service.of("job-stream").map((one) => one.body)).toEqual(['{"output":"first"}']);
		expect(post.query.isStream).toBe("true");
		expect(post.body).toContain("broke half way");
	});

	it("that yield an error end there", async () => {
		let later = false;
		const { service, reported } = await working({
			handler: function* () {
				yield 1;
				yield { error: { code: 400 } };
				later = true;
			},
		});
		service.give(job);
		expect((await reported()).body).toBe('{"error":"{\\"code\\":400}"}');
		expect([service.of("job-stream").length, later]).toEqual([1, false]);
	});
});

describe("B.6: reports are repeated until acknowledged", () => {
	it.each([[500], [503], [429], [408]])("after HTTP %i", async (status) => {
		let left = 2;
		const { service, reported } = await working({ handler: () => "x" }, (one) => {
			one.script = (seen, response) => {
				if (seen.route !== "job-done" || left-- <= 0) return false;
				response.writeHead(status).end();
				return true;
			};
		});
		service.give(job);
		await reported(3);
		expect(service.results()).toEqual(['{"output":"x"}', '{"output":"x"}', '{"output":"x"}']);
		await service.until((one) => one.route === "job-take" && one.query.job_in_progress === "0", 2);
	});

	it("after a dropped connection, without losing the reports behind it", async () => {
		let dropped = 0;
		const { service, reported } = await working({ handler: (given) => given.id, concurrency: 8 }, (one) => {
			one.script = (seen, response) => {
				if (seen.route !== "job-done" || dropped++ > 0) return false;
				response.socket!.destroy();
				return true;
			};
		});
		service.give(...Array.from({ length: 8 }, (_, index) => ({ id: `j-${index}`, input: 1 })));
		await reported(9);
		await vi.waitFor(() => expect(new Set(service.results()).size).toBe(8), 20_000);
	});

	it("across a restart of the service, while the pings name the job", async () => {
		let finish = () => {};
		const finished = new Promise<void>((resolve) => (finish = resolve));
		const { service, reported } = await working({ handler: () => finished.then(() => "late") });
		service.give(job);
		await service.until((one) => one.route === "ping" && one.query.job_id === "job-1");
		await service.down();
		finish();
		const pings = service.of("ping").length;
		await service.up();
		expect((await reported()).body).toBe('{"output":"late"}');
		await service.until((one) => one.route === "job-take" && one.query.job_in_progress === "0", 2);
		expect(service.of("ping").length).toBeGreaterThanOrEqual(pings);
	});

	it("chunks too, in order", async () => {
		let tries = 0;
		const { service, reported } = await working(
			{
				handler: function* () {
					yield "a";
					yield "b";
				},
			},
			(one) => {
				one.script = (seen, response) => {
					if (seen.route !== "job-stream" || tries++ > 1) return false;
					if (tries === 1) response.socket!.destroy();
					else response.writeHead(500).end();
					return true;
				};
			},
		);
		service.give(job);
		await reported();
		expect(service.of("job-stream").map((one) => one.query.chunk)).toEqual(["0", "0", "0", "1"]);
	});

	it("but not after another 4xx, which is logged", async () => {
		const { service, worker } = await working({ handler: () => "x" }, (one) => {
			one.script = (seen, response) => {
				if (seen.route !== "job-done") return false;
				response.writeHead(404).end();
				return true;
			};
		});
		service.give(job);
		await service.until((one) => one.route === "job-take" && one.query.job_in_progress === "0", 2);
		expect(service.results()).toHaveLength(1);
		expect(worker.lines.join("")).toContain("refused the report with HTTP 404");
	});
});
