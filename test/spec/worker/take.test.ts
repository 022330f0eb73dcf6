/**
 * How jobs reach workers: held polls, batches, order, and connections that are dead (protocol
 * B.3, B.4; D16, D20, D26).
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { bench, type Bench, idsOf, submit } from "../../support/sdk-worker-bench.ts";
import { connectTo } from "../../support/transport.ts";
import { call } from "../../support/service.ts";
import { untilTrue } from "../../support/until.ts";

const HOLD_MS = 50_000;

let b: Bench;
beforeAll(async () => {
	b = await bench();
});
beforeEach(() => b.fresh());
afterAll(() => b?.end());

describe("B.3: job-take", () => {
	it("answers one job as application/json with id and input", async () => {
		const worker = await b.worker();
		const id = await b.submit({ input: { prompt: "hi" } });
		expect(await worker.take()).toEqual({
			status: 200,
			type: "application/json",
			text: `{"id":"${id}","input":{"prompt":"hi"}}`,
		});
	});

	it("D22: s3Config rides along as a member of the job, and webhook and policy do not", async () => {
		const worker = await b.worker();
		const s3Config = {
			accessId: "id",
			accessSecret: "secret",
			bucketName: "bucket",
			endpointUrl: "https://s3.example",
		};
		await b.submit({
			input: {},
			s3Config,
			webhook: "https://hook.example/",
			policy: { ttl: 60_000 },
		});
		const { text } = await worker.take();
		expect(Object.keys(JSON.parse(text))).toEqual(["id", "input", "s3Config"]);
		expect(JSON.parse(text).s3Config).toEqual(s3Config);
	});

	it("row 200: the handler gets the very object: id, input and s3Config, nothing else", async () => {
		const jobs: unknown[] = [];
		await b.sdk({ handler: (job) => void jobs.push(job) });
		const s3Config = {
			accessId: "id",
			accessSecret: "secret",
			bucketName: "bucket",
			endpointUrl: "https://s3.example",
		};
		const { json } = await b.call("runsync", {
			body: {
				input: { prompt: "hi" },
				s3Config,
				webhook: "https://hook.example/",
				policy: { ttl: 60_000 },
				batchId: "b",
			},
		});
		expect(jobs).toEqual([{ id: json.id, input: { prompt: "hi" }, s3Config }]);
	});

	it.each([
		"",
		"?",
		"?job_in_progress=x",
		"?job_in_progress=",
		"?job_in_progress=2&gpu=%zz",
		"?batch_size=x&batch_size=3",
		"?batch_size=1e9&x=%00",
		"?gpu=a%26b&gpu=c",
	])("row 400: a poll with the query '%s' is refused on no channel, and gets what waits", async (queryText) => {
		const worker = await b.worker();
		const ask = async (operation: string): Promise<{ status: number; text: string }> =>
			await call(b.url, `/worker/${b.ep}/${operation}/${worker.id}${queryText}`, {
				key: null,
				headers: { authorization: worker.env["RUNPOD_AI_API_KEY"]! },
			});
		for (const operation of ["job-take", "job-take-batch"]) {
			const id = await b.submit();
			const { status, text } = await ask(operation);
			expect({ status, jobs: [JSON.parse(text)].flat() }).toEqual({
				status: 200,
				jobs: [{ id, input: {} }],
			});
			await b.call(`cancel/${id}`, { method: "POST" });
			const stop = await ask("job-stop");
			expect({ status: stop.status, text: stop.text }).toEqual({
				status: 200,
				text: JSON.stringify({ jobsToStop: [id] }),
			});
			await worker.done(id, {});
		}
	});

	it("D26: an empty poll is held 50 s and then 204, on job-take, job-take-batch and job-stop alike", async () => {
		const worker = await b.worker();
		const polls = [
			(signal: AbortSignal) => worker.take({ signal }),
			(signal: AbortSignal) => worker.takeBatch({ size: 4, signal }),
			(signal: AbortSignal) => worker.stop({ signal }),
		];
		for (const poll of polls) {
			let answered = false;
			const { answer } = await b.held(worker, poll);
			void answer.then(() => (answered = true));
			await b.clock.advance(HOLD_MS - 1);
			expect(answered).toBe(false);
			await b.clock.advance(1);
			expect(await answer).toEqual({ status: 204, type: "", text: "" });
		}
	});

	it("D26: an idle SDK worker makes few requests a minute", async () => {
		const { protocol, errors } = await b.sdk({ handler: () => 1, pingEveryMs: 0 });
		const seen = b.service.engine.workers.recordCall(protocol);
		const minutes = 5;
		for (let second = 0; second < minutes * 60; second += 1) {
			await b.pass(1000);
			// Time goes on when whatever the worker asks has arrived: no request is saved by the test's
			// own haste.
			await untilTrue(() => seen.takes > 0 && seen.polls.size === protocol.open);
		}
		expect(errors).toEqual([]);
		const takes = protocol.sent.filter(({ path }) => path.includes("/job-take/")).length;
		const stops = protocol.sent.filter(({ path }) => path.includes("/job-stop/")).length;
		expect(takes).toBeGreaterThanOrEqual(minutes);
		expect(takes).toBeLessThanOrEqual(minutes * 2);
		expect(stops).toBeLessThanOrEqual(minutes * 2);
	});

	it("a job submitted reaches a waiting take at once, without the clock moving", async () => {
		const worker = await b.worker();
		const { answer } = await b.held(worker, (signal) => worker.take({ signal }));
		const id = await b.submit();
		expect(idsOf(await answer)).toEqual([id]);
		expect(await b.status(id)).toMatchObject({
			status: "IN_PROGRESS",
			delayTime: 0,
			workerId: worker.id,
		});
	});

	it("each of two waiting takes gets one job, the longer waiting the first", async () => {
		const [first, second] = [await b.worker(), await b.worker()];
		const polls = [
			await b.held(first, (signal) => first.take({ signal })),
			await b.held(second, (signal) => second.take({ signal })),
		];
		const ids = [await b.submit(), await b.submit()];
		expect([idsOf(await polls[0]!.answer), idsOf(await polls[1]!.answer)]).toEqual([[ids[0]], [ids[1]]]);
	});

	it("a worker gets jobs of its own endpoint only", async () => {
		const elsewhere = await b.endpoint();
		const [mine, others] = [await b.worker(), await b.worker(elsewhere)];
		const { answer } = await b.held(others, (signal) => others.take({ signal }));
		const id = await b.submit();
		await b.takes(mine, id);
		const other = await submit(b.url, { input: {} }, elsewhere);
		expect(idsOf(await answer)).toEqual([other]);
	});
});

describe("B.4: batches and order", () => {
	const jobs = async (count: number, policy?: object): Promise<string[]> => {
		const ids: string[] = [];
		for (let n = 0; n < count; n += 1) ids.push(await b.submit({ input: { n }, ...(policy ? { policy } : {}) }));
		return ids;
	};

	it("gives up to N jobs, in order, as an array; fewer when fewer wait", async () => {
		const worker = await b.worker();
		const ids = await jobs(5);
		expect(idsOf(await worker.takeBatch({ size: 3 }))).toEqual(ids.slice(0, 3));
		const rest = await worker.takeBatch({ size: 3, busy: true });
		expect(idsOf(rest)).toEqual(ids.slice(3));
		expect(JSON.parse(rest.text)).toBeInstanceOf(Array);
	});

	it("a waiting batch take is answered with the first job, as an array of one", async () => {
		const worker = await b.worker();
		const { answer } = await b.held(worker, (signal) => worker.takeBatch({ size: 4, signal }));
		const [id] = await jobs(1);
		expect(JSON.parse((await answer).text)).toEqual([{ id, input: { n: 0 } }]);
	});

	it("D20: lowPriority jobs come after the others, in order among themselves", async () => {
		const worker = await b.worker();
		const low = await jobs(2, { lowPriority: true });
		const high = await jobs(2);
		expect(idsOf(await worker.takeBatch({ size: 3 }))).toEqual([...high, low[0]]);
		expect(idsOf(await worker.take({ busy: true }))).toEqual([low[1]]);
	});

	it("a batch_size that is no number from 1 counts as 1", async () => {
		const worker = await b.worker();
		const ids = await jobs(3);
		for (const [at, size] of [0, -1, Number.NaN].entries())
			expect(idsOf(await worker.takeBatch({ size, busy: true }))).toEqual([ids[at]]);
	});
});

describe("D16: a connection found dead gets no job", () => {
	it("a job submitted after the client hung up waits for the next take, as its first attempt", async () => {
		const [left, other] = [await b.worker(), await b.worker()];
		const poll = await b.held(left, (signal) => left.take({ signal }));
		await poll.hangUp();
		const id = await b.submit();
		expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE" });
		await b.takes(other, id);
		expect(await b.status(id)).not.toHaveProperty("retries");
		expect(b.of("job.started").map(({ attempt }) => attempt)).toEqual([1]);
	});

	it("the very worker that hung up may take it when it asks again", async () => {
		const worker = await b.worker();
		const poll = await b.held(worker, (signal) => worker.take({ signal }));
		await poll.hangUp();
		const id = await b.submit();
		await b.takes(worker, id);
	});

	it("jobs claimed meanwhile go back in order, without counting a loss, and to anybody", async () => {
		const [left, other] = [await b.worker(), await b.worker()];
		const ids = [await b.submit(), await b.submit(), await b.submit()];
		const later = await b.submit({ input: { later: true } });
		await left.ping();
		// The request and the end of the connection arrive together: the claim is in progress when the
		// service learns of the end.
		const { socket } = connectTo(b.url);
		socket.end(
			`GET /worker/${b.ep}/job-take-batch/${left.id}?batch_size=3&job_in_progress=1 HTTP/1.1\r\n` +
				`Host: x\r\nAuthorization: ${String(left.sent[0]!.headers["Authorization"])}\r\n\r\n`,
		);
		await untilTrue(() => b.of("job.returned").filter(({ why }) => why === "released").length >= 3);
		expect(b.of("job.returned").map(({ why, worker }) => [why, worker])).toEqual(
			Array.from({ length: 3 }, () => ["released", left.id]),
		);
		const health = await b.call(`health`);
		expect(health.json.jobs).toMatchObject({ inQueue: 4, inProgress: 0, retried: 0 });
		expect(idsOf(await other.takeBatch({ size: 2 }))).toEqual(ids.slice(0, 2));
		expect(idsOf(await left.takeBatch({ size: 2, busy: true }))).toEqual([ids[2], later]);
		for (const id of ids) expect(await b.status(id)).not.toHaveProperty("retries");
	});
});
