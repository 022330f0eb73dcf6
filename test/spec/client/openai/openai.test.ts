/** /openai/* (D32): a request is a job, and its answer is the job's result. */
import { describe, expect, it } from "vitest";
import { advanceUntil, manualClock } from "../../../support/manual-clock.ts";
import { call, KEY, startService } from "../../../support/service.ts";
import { handWorker, statusOf, type Taken } from "../../hand-worker.ts";
import { ask, expectOpenAIError, nextArrival } from "./answers.ts";
import { BODY, BOTH, answered, clock, ep, path, service, useCompletions, useEndpoint, worker } from "./completions.ts";

useCompletions();

describe("the job", () => {
	it("D32, D5: its input holds the route and the body's text, byte for byte", async () => {
		const text = ' { "model":"m", "seed": 12345678901234567890, "t":1.0, "é":"\\u00e9", "a":1, "a":2 } ';
		let job: Taken | undefined;
		await answered(
			async (taken) => {
				job = taken;
				await worker.done(taken.id, { output: {} });
			},
			{ text },
		);
		expect(job!.text).toContain(`"input":{"openai_route":"/v1/chat/completions","openai_input":${text}}`);
	});

	it("protocol C.1: a GET has a route and no openai_input", async () => {
		const answer = await answered(
			async ({ id, input }) => {
				expect(input).toEqual({ openai_route: "/v1/models" });
				await worker.done(id, { output: [{ object: "list", data: [] }] });
			},
			{},
			`/v2/${ep}/openai/v1/models`,
		);
		expect(answer).toMatchObject({ status: 200, json: { object: "list", data: [] } });
	});

	it("D32: any route goes through, also under /sdk/v2; the query does not", async () => {
		await answered(
			async ({ id, input }) => {
				expect(input.openai_route).toBe('/v1/a b/"c/');
				await worker.done(id, { output: {} });
			},
			{ body: BODY },
			`/sdk/v2/${ep}/openai/v1/a%20b/%22c/?x=1`,
		);
	});

	it("D32, D9: its result is kept like that of a sync job, and its id is in x-request-id", async () => {
		await useEndpoint("usual", "embeddings");
		const answer = await answered(({ id }) => worker.done(id, { output: { a: 1 } }));
		const id = answer.headers.get("x-request-id")!;
		expect(await statusOf(service, ep, id)).toMatchObject({
			id,
			status: "COMPLETED",
			output: { a: 1 },
		});
		await clock.advance(59_999);
		expect((await statusOf(service, ep, id)).status).toBe("COMPLETED");
		await clock.advance(1);
		expect((await call(service.url, `/v2/${ep}/status/${id}`)).status).toBe(404);
	});

	it("D32: an Idempotency-Key means nothing here: each request is a job", async () => {
		const init = { body: BODY, headers: { "idempotency-key": "stainless-node-retry-1" } };
		const ids = new Set<string>();
		for (const n of [1, 2]) {
			const answer = await answered(async ({ id }) => {
				ids.add(id);
				await worker.done(id, { output: { n } });
			}, init);
			expect(answer.json).toEqual({ n });
		}
		expect(ids.size).toBe(2);
	});
});

describe("one answer", () => {
	it.each([
		['[{"a":1.0}]', '{"a":1.0}'],
		['{"a":12345678901234567890}', '{"a":12345678901234567890}'],
		['[{"a":1},{"b":2}]', '[{"a":1},{"b":2}]'],
		['"text"', '"text"'],
		["[]", "[]"],
		[
			'{"object":"response","error":{"message":"x","code":404}}',
			'{"object":"response","error":{"message":"x","code":404}}',
		],
	])("D32: of the output %s the body is %s", async (output, body) => {
		const answer = await answered(({ id }) => worker.done(id, `{"output":${output}}`));
		expect(answer).toMatchObject({ status: 200, text: body });
		expect(answer.headers.get("content-type")).toBe("application/json");
	});

	it("D5: a large result is its own text too", async () => {
		const large = `{"é":"${"x".repeat(2_000_000)}","n":12345678901234567890}`;
		expect((await answered(({ id }) => worker.done(id, `{"output":[${large}]}`))).text).toBe(large);
	});

	it("protocol B.5: a result without output is an empty object", async () => {
		expect(await answered(({ id }) => worker.done(id, {}))).toMatchObject({
			status: 200,
			text: "{}",
		});
	});

	it("D32: a generator that gathers nothing answers with its only chunk, and with a list of several", async () => {
		for (const [outputs, body] of [
			[['{"a":1.0}'], '{"a":1.0}'],
			[['{"a":1.0}', "2"], '[{"a":1.0},2]'],
		] as const) {
			const answer = await answered(async ({ id }) => {
				for (const output of outputs) await worker.chunk(id, `{"output":${output}}`);
				await worker.done(id, { output: [] });
			});
			expect(answer.text).toBe(body);
		}
	});

	it("D40: tokens by the usage of answers, streams and large ones are counted by endpoint, once each", async () => {
		const usage = (input: number, output: number) => ({ prompt_tokens: input, completion_tokens: output });
		const tokens = async () => {
			const response = await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${KEY}` } });
			return (await response.text())
				.split("\n")
				.filter((line) => line.startsWith(`sluice_openai_tokens_total{endpoint="${ep}"`));
		};
		await answered(({ id }) => worker.done(id, { output: { a: 1 } }));
		expect(await tokens()).toEqual([]);
		await answered(({ id }) => worker.done(id, { output: [{ text: "x".repeat(3_000_000), usage: usage(1, 20) }] }));
		const stream = ask(service.url, path, { ...BODY, stream: true });
		const { id: streamed } = (await worker.take())!;
		const event = (count: number) => `data: ${JSON.stringify({ choices: [], usage: usage(300, count) })}\n\n`;
		for (const output of [event(1000), `${event(4000)}data: {"usage":null}\n\n`, "data: {}\n\n"])
			await worker.chunk(streamed, { output });
		await worker.done(streamed, { output: [] });
		await (await stream.answer).rest();
		await answered(({ id }) => worker.done(id, { output: { usage: { prompt_tokens: 50_000 } } }));
		expect(await tokens()).toEqual([
			`sluice_openai_tokens_total{endpoint="${ep}",kind="input"} 50301`,
			`sluice_openai_tokens_total{endpoint="${ep}",kind="output"} 4020`,
		]);
	});

	it("D32: it waits for as long as the job takes", async () => {
		const answer = await answered(async ({ id }) => {
			for (let past = 0; past < 9; past += 1) {
				await clock.advance(1000);
				await worker.ping(id);
			}
			await worker.done(id, { output: { late: true } });
		});
		expect(answer.json).toEqual({ late: true });
	});
});
describe("a client that hangs up", () => {
	const cancelled = (): Promise<{ state: string }> => service.next("job.settled", ({ endpoint }) => endpoint === ep);

	it.each(BOTH)("D32: cancels the job while it waits: %j", async (body) => {
		const queued = service.next("job.queued", ({ endpoint }) => endpoint === ep);
		const end = cancelled();
		const asking = ask(service.url, path, body);
		const { id } = await queued;
		asking.hangUp();
		expect((await end).state).toBe("CANCELLED");
		expect((await statusOf(service, ep, id)).status).toBe("CANCELLED");
	});

	it.each(BOTH)("D32, D18: stops the job while it runs: %j", async (body) => {
		const end = cancelled();
		const stopped = service.next("stop.sent", ({ endpoint }) => endpoint === ep);
		const asking = ask(service.url, path, body);
		const { id } = (await worker.take())!;
		asking.hangUp();
		expect((await end).state).toBe("CANCELLED");
		expect(await stopped).toMatchObject({ id, worker: worker.id });
	});

	it.each(BOTH)("D32: cancels the job also when it left before anybody waited for it: %j", async (body) => {
		const { submit } = service.engine.jobs;
		const arrival = nextArrival();
		const asking = ask(service.url, path, body);
		service.engine.jobs.submit = async (q) => {
			service.engine.jobs.submit = submit;
			const id = await submit(q);
			asking.hangUp();
			await (await arrival).closed;
			return id;
		};
		expect((await cancelled()).state).toBe("CANCELLED");
	});
});

describe("a service that stops", () => {
	it.each(BOTH)("D34: answers 503 at once and cancels the job: %j", async (body) => {
		const time = manualClock();
		const stopping = await startService({ endpoints: { ep: {} }, clock: time, drainSeconds: 3600 });
		const hand = await handWorker(stopping, "ep");
		const answer = call(stopping.url, "/v2/ep/openai/v1/completions", { body });
		const { id } = (await hand.take())!;
		const settled = stopping.next("job.settled", (facts) => facts.id === id);
		const began = time.now();
		const end = stopping.end();
		expectOpenAIError(await answer, 503, "not_ready");
		expect((await settled).state).toBe("CANCELLED");
		let over = false;
		void end.finally(() => (over = true));
		await advanceUntil(time, () => over, 1000);
		await end;
		// Nothing runs any more, so the drain does not last.
		expect(time.now() - began).toBeLessThan(3_600_000);
	});
});
