/** OpenAI's batches (D57) with the official client. */
import type { OpenAI } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, startService, type TestService } from "../../../support/service.ts";
import { clientOf } from "../files/files-client.ts";
import type { Taken } from "../../hand-worker.ts";
import { answering, completion, created, ended, line, PATH, results, run } from "./batch-client.ts";

let service: TestService;
let client: OpenAI;
let answer: (job: Taken) => object | undefined;
let taken: Taken[];
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {}, idle: {} } });
	client = clientOf(service, "ep");
	answer = completion;
	taken = [];
	for (let workers = 0; workers < 3; workers += 1)
		await answering(service, "ep", (job) => {
			taken.push(job);
			return answer(job);
		});
});
afterAll(() => service.end());

describe("a batch", () => {
	it("D57: runs each line as a job, and puts the answers into a file", async () => {
		answer = completion;
		const lines = ["a", "b", "c"].map((id) => line(id, { model: "m", n: id }));
		const batch = await run(service, client, lines, { metadata: { night: "1" } });
		expect(batch).toEqual({
			id: expect.stringMatching(/^batch_[0-9a-f]{32}$/),
			object: "batch",
			endpoint: PATH,
			errors: null,
			input_file_id: expect.stringMatching(/^file-/),
			completion_window: "24h",
			status: "completed",
			output_file_id: expect.stringMatching(/^file-/),
			error_file_id: null,
			created_at: expect.any(Number),
			in_progress_at: expect.any(Number),
			expires_at: batch.created_at + 86_400,
			finalizing_at: expect.any(Number),
			completed_at: expect.any(Number),
			failed_at: null,
			expired_at: null,
			cancelling_at: null,
			cancelled_at: null,
			request_counts: { total: 3, completed: 3, failed: 0 },
			usage: {
				input_tokens: 9,
				input_tokens_details: { cached_tokens: 0 },
				output_tokens: 15,
				output_tokens_details: { reasoning_tokens: 0 },
				total_tokens: 24,
			},
			metadata: { night: "1" },
		});
		const found = await results(client, batch.output_file_id);
		expect([...found.keys()].toSorted()).toEqual(["a", "b", "c"]);
		expect(found.get("b")).toEqual({
			id: `batch_req_${batch.id.slice(6)}_2`,
			custom_id: "b",
			response: {
				status_code: 200,
				request_id: expect.any(String),
				body: expect.objectContaining({ echo: { model: "m", n: "b" } }),
			},
			error: null,
		});
	});

	it("D57, D5: a worker gets the body of the line as it is in the file", async () => {
		answer = completion;
		const body = '{ "model":"m",  "seed": 12345678901234567890, "t":1.0, "é":"\\u00e9" }';
		const before = taken.length;
		await run(service, client, [`{"body":${body},"url":"${PATH}","method":"POST","custom_id":"x"}`]);
		expect(taken[before]!.text).toContain(`"input":{"openai_route":"${PATH}","openai_input":${body}}`);
	});

	it("D57: blank lines and a byte order mark are no requests, and the last line needs no end", async () => {
		answer = completion;
		const batch = await run(service, client, [`\ufeff${line("a")}`, "", "  \r", line("b")]);
		expect(batch.request_counts).toEqual({ total: 2, completed: 2, failed: 0 });
		expect((await results(client, batch.output_file_id)).get("b")!.id).toMatch(/_4$/);
	});

	it("D57: failures are in another file, with the status that a client would have got", async () => {
		const outcomes: Record<string, object> = {
			ok: { output: { fine: true } },
			busy: { error: 'vLLM returned HTTP 429: {"error":{"message":"slow down","type":"rate_limit_error","code":429}}' },
			own: { output: { object: "error", message: "no such model", type: "NotFoundError", code: 404 } },
			fatal: { error: "out of memory" },
		};
		answer = ({ input }) => outcomes[input.openai_input.n];
		const batch = await run(
			service,
			client,
			Object.keys(outcomes).map((id) => line(id, { n: id })),
		);
		expect(batch).toMatchObject({ status: "completed", request_counts: { total: 4, completed: 1, failed: 3 } });
		expect([...(await results(client, batch.output_file_id)).keys()]).toEqual(["ok"]);
		const failed = await results(client, batch.error_file_id);
		const of = (id: string): unknown => failed.get(id);
		expect(of("busy")).toMatchObject({
			response: { status_code: 429, body: { error: { message: "slow down", code: 429 } } },
			error: null,
		});
		expect(of("own")).toMatchObject({ response: { status_code: 404, body: { error: { message: "no such model" } } } });
		expect(of("fatal")).toMatchObject({
			response: { status_code: 500, body: { error: { message: "out of memory", code: "worker_failed" } } },
		});
	});

	it("D57: one whose requests have all failed is completed, without an output file", async () => {
		answer = () => ({ error: "no" });
		const batch = await run(service, client, [line("a"), line("b")]);
		expect(batch).toMatchObject({ status: "completed", output_file_id: null, request_counts: { failed: 2 } });
		expect((await results(client, batch.error_file_id)).size).toBe(2);
	});

	it("D57: an answer of several lines is one, and chunks without a result are the answer", async () => {
		answer = () => ({ output: '{\n  "a": "x\\ny",\r\n  "b": 1\n}' as never });
		const text = '{"output": {\n  "a": "x\\ny",\r\n  "b": 1\n}}';
		answer = () => text as never;
		const batch = await run(service, client, [line("a")]);
		expect((await results(client, batch.output_file_id)).get("a")!.response!.body).toEqual({ a: "x\ny", b: 1 });
	});

	it("D57, D41: large answers are whole", async () => {
		const large = "x".repeat(3_000_000);
		answer = ({ input }) => ({ output: [{ n: input.openai_input.n, large, usage: { prompt_tokens: 2 } }] });
		const ids = ["a", "b", "c", "d", "e", "f", "g"];
		const batch = await run(
			service,
			client,
			ids.map((id) => line(id, { n: id })),
		);
		const found = await results(client, batch.output_file_id);
		for (const id of ids) {
			const { body } = found.get(id)!.response!;
			expect(body.n).toBe(id);
			expect(body.large === large).toBe(true);
		}
		expect(batch.usage!.input_tokens).toBe(14);
	});

	it("D57: of 600 requests each is in the file once, and the files are the only ones that lists have", async () => {
		answer = completion;
		const ids = Array.from({ length: 600 }, (_, n) => `id-${n}`);
		const batch = await run(
			service,
			client,
			ids.map((id) => line(id)),
		);
		expect(batch.request_counts).toEqual({ total: 600, completed: 600, failed: 0 });
		expect([...(await results(client, batch.output_file_id)).keys()].toSorted()).toEqual(ids.toSorted());
		const listed = await client.files.list();
		for (const { purpose } of listed.data) expect(["batch", "batch_output"]).toContain(purpose);
	});
});

describe("lists and repeats", () => {
	it("D57: a list has the newest first, a page at a time", async () => {
		const idle = clientOf(service, "idle");
		expect((await idle.batches.list()).data).toEqual([]);
		const made: string[] = [];
		for (const id of ["a", "b", "c"]) made.unshift((await created(idle, [line(id)])).id);
		const listed: string[] = [];
		for await (const { id } of idle.batches.list({ limit: 2 })) listed.push(id);
		expect(listed).toEqual(made);
		const { json } = await call(service.url, `/v2/idle/openai/v1/batches?limit=2`);
		expect(json).toMatchObject({ object: "list", first_id: made[0], last_id: made[1], has_more: true });
	});

	it("D57: a repeat of the official client within 10 minutes is the same batch, another request is not", async () => {
		const end = ended(service);
		const { input_file_id: input, id } = await created(client, [line("a")]);
		await end;
		const again = (retries: string) =>
			call(service.url, "/v2/ep/openai/v1/batches", {
				text: JSON.stringify({ endpoint: PATH, completion_window: "24h", input_file_id: input }),
				headers: { "x-stainless-retry-count": retries },
			});
		expect((await again("1")).json.id).toBe(id);
		const other = ended(service);
		expect((await again("0")).json.id).not.toBe(id);
		await other;
	});
});
