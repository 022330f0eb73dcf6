/** `/v1/endpoints/{endpoint}/jobs`: lists, and one job with its timeline (D39). */
import { describe, expect, it } from "vitest";
import { call } from "../../support/service.ts";
import { expectError, handWorker, submitted } from "../hand-worker.ts";
import { admin, clock, ep, job, service, useJobService } from "./job-service.ts";

useJobService();

/** Time goes on, so that what follows has a moment of its own. */
const later = (): Promise<void> => clock.advance(100);
const iso = (ms: number): string => new Date(ms).toISOString();
const jobs = (query = ""): Promise<any> => admin.seen(`/endpoints/${ep}/jobs${query}`);
const idsOf = async (query = ""): Promise<string[]> => (await jobs(query)).jobs.map(({ id }: { id: string }) => id);

describe("GET /v1/endpoints/{endpoint}/jobs", () => {
	it("D39: job objects without output, with their times, the last submitted first", async () => {
		const worker = await handWorker(service, ep);
		const submittedAt = clock.now();
		const first = await submitted(service, ep);
		await later();
		const startedAt = clock.now();
		await worker.takeThis(first);
		await later();
		await worker.done(first, { output: { big: "result" } });
		const second = await submitted(service, ep);
		const { jobs: list, next } = await jobs();
		expect(next).toBeNull();
		expect(list).toEqual([
			{
				id: second,
				status: "IN_QUEUE",
				delayTime: 0,
				executionTime: 0,
				submittedAt: iso(clock.now()),
				expired: false,
			},
			{
				id: first,
				status: "COMPLETED",
				delayTime: 100,
				executionTime: 100,
				workerId: worker.id,
				submittedAt: iso(submittedAt),
				startedAt: iso(startedAt),
				endedAt: iso(clock.now()),
				expired: false,
			},
		]);
	});

	it("D39: filters by state, worker, time and id, alone and together", async () => {
		const [a, b] = [await handWorker(service, ep), await handWorker(service, ep)];
		const ids: string[] = [];
		const times: number[] = [];
		for (let index = 0; index < 4; index += 1) {
			times.push(clock.now());
			ids.push(await submitted(service, ep));
			await later();
		}
		const [first, second, third, fourth] = ids as [string, string, string, string];
		await a.takeThis(first);
		await a.done(first, { output: {} });
		await b.takeThis(second);
		await b.done(second, { error: "broke" });
		await a.takeThis(third);
		const cases: [string, string[]][] = [
			["", [fourth, third, second, first]],
			["?status=IN_QUEUE", [fourth]],
			["?status=COMPLETED,FAILED", [second, first]],
			[`?worker=${a.id}`, [third, first]],
			[`?worker=${a.id}&status=COMPLETED`, [first]],
			[`?from=${times[1]}`, [fourth, third, second]],
			[`?from=${iso(times[1]!)}&to=${times[3]}`, [third, second]],
			[`?id=${second}`, [second]],
			[`?id=${second}&status=FAILED&worker=${b.id}`, [second]],
			[`?id=${second}&status=COMPLETED`, []],
			[`?id=${second}&to=${times[1]}`, []],
			["?id=none", []],
		];
		for (const [query, expected] of cases) expect(await idsOf(query), query).toEqual(expected);
		for (const [id, state] of [
			[first, "COMPLETED"],
			[second, "FAILED"],
		] as const)
			expect((await jobs(`?id=${id}`)).jobs).toEqual((await jobs(`?status=${state}`)).jobs);
	});

	it("D39: pages by cursor hold every job once", async () => {
		const ids: string[] = [];
		for (let index = 0; index < 7; index += 1) ids.unshift(await submitted(service, ep));
		const seen: string[] = [];
		let cursor = "";
		do {
			const page = await jobs(`?limit=3${cursor}`);
			expect(page.jobs.length).toBeLessThanOrEqual(3);
			for (const each of page.jobs) seen.push(each.id);
			cursor = page.next === null ? "" : `&cursor=${encodeURIComponent(page.next)}`;
		} while (cursor !== "");
		expect(seen).toEqual(ids);
	});

	it("D39: searches ids, errors and inputs, with previews, and counts what matches", async () => {
		const worker = await handWorker(service, ep);
		const long = "x".repeat(600);
		const first = await submitted(service, ep, { input: { metadata: { user: "ada" }, long } });
		const second = await submitted(service, ep, { input: {} });
		await worker.takeThis(first);
		await worker.done(first, { error: "Out of memory" });
		expect(await idsOf(`?search=${second.slice(-12)}`)).toEqual([second]);
		expect(await idsOf("?search=out%20of%20MEMORY")).toEqual([first]);
		expect(await idsOf(`?search=${encodeURIComponent('"user": "ada"')}`)).toEqual([first]);
		const found = await jobs("?preview=true&search=ada");
		expect(found.jobs[0].inputPreview).toBe(JSON.stringify({ metadata: { user: "ada" }, long }).slice(0, 500));
		expect(found.searchedTo).toBeUndefined();
		expect((await jobs(`?id=${second}&preview=true`)).jobs[0].inputPreview).toBe("{}");
		expect((await jobs()).jobs[0].inputPreview).toBeUndefined();
		expect((await jobs("?count=true&limit=1")).matching).toEqual({ count: 2, more: false });
		expect((await jobs("?count=true&status=FAILED")).matching).toEqual({ count: 1, more: false });
	});

	it.each([
		"search=",
		"preview=1",
		"count=yes",
		"status=DONE",
		"status=",
		"status=FAILED,",
		"worker=",
		"from=yesterday",
		"to=2026-01-01",
		"limit=0",
		"limit=101",
		"cursor=x",
		"cursor=",
		"expired=yes",
		"id=",
	])("D2: ?%s is 400 and names the parameter", async (query) => {
		expectError(await admin.get(`/endpoints/${ep}/jobs?${query}`), 400, "bad_query", [query.split("=")[0]!]);
	});

	it("D9, D39: an expired job is listed only on demand, without input, output, error and webhook", async () => {
		const worker = await handWorker(service, ep);
		const id = await submitted(service, ep, {
			input: { secret: "of the client" },
			webhook: "https://hooks.test/x",
		});
		await worker.takeThis(id);
		await worker.done(id, { error: "a secret failure" });
		const endedAt = clock.now();
		expect(await job(id)).toMatchObject({
			expired: false,
			expiresAt: iso(endedAt + 60_000),
			error: "a secret failure",
			input: { secret: "of the client" },
		});
		await clock.advance(60_000);
		expectError(await call(service.url, `/v2/${ep}/status/${id}`), 404, "job_not_found");
		for (const query of ["", `?id=${id}`, "?status=FAILED"]) {
			expect(await idsOf(query)).toEqual([]);
			expect(await idsOf(query === "" ? "?expired=true" : `${query}&expired=true`)).toEqual([id]);
		}
		const answer = await admin.get(`/endpoints/${ep}/jobs/${id}`);
		expect(answer.json).toMatchObject({
			id,
			status: "FAILED",
			expired: true,
			expiresAt: iso(endedAt + 60_000),
			timeline: [
				{ event: "submitted" },
				{ event: "started" },
				{ event: "failed" },
				{ event: "expired", at: iso(endedAt + 60_000) },
			],
		});
		expect(answer.text).not.toMatch(/secret|hooks/);
		expectError(await admin.post(`/endpoints/${ep}/jobs/${id}`), 405, "method_not_allowed");
		await clock.advance(600_000);
		expectError(await admin.get(`/endpoints/${ep}/jobs/${id}`), 404, "job_not_found");
	});
});

describe("GET /v1/endpoints/{endpoint}/jobs/{job}", () => {
	it("D39: returns all of a job: its settings, chunks, attempts and timeline, through a loss and a retry", async () => {
		const worker = await handWorker(service, ep);
		const at: number[] = [];
		const moment = async (): Promise<void> => {
			await later();
			at.push(clock.now());
		};
		await moment();
		const body = {
			input: { n: 1 },
			webhook: "https://hooks.test/x?token=1",
			policy: { ttl: 50_000, executionTimeout: 70_000, lowPriority: true },
			s3Config: {
				accessId: "a",
				accessSecret: "very-secret",
				bucketName: "b",
				endpointUrl: "https://s3.test",
			},
		};
		const id = await submitted(service, ep, body);
		await moment();
		await worker.takeThis(id);
		await clock.advance(5000);
		await worker.ping();
		await clock.advance(4900);
		await moment();
		// The second ping that omits the job proves it lost; the worker gets it again.
		await worker.ping();
		await worker.takeThis(id);
		await worker.chunk(id, { output: "one" });
		await worker.chunk(id, { output: "two" });
		const running = await job(id);
		expect(running).toMatchObject({
			status: "IN_PROGRESS",
			retries: 1,
			chunks: { written: 2, delivered: 0 },
			attempts: [
				{ attempt: 1, end: "lost" },
				{ attempt: 2, end: "running", open: true },
			],
		});
		expect(running.attempts[1]).not.toHaveProperty("endedAt");
		await moment();
		await worker.done(id, { error: "broke" });
		await moment();
		expect((await call(service.url, `/v2/${ep}/retry/${id}`, { method: "POST" })).status).toBe(200);
		await moment();
		await worker.takeThis(id);
		await moment();
		await worker.done(id, { output: { fine: true } });

		const answer = await admin.get(`/endpoints/${ep}/jobs/${id}`);
		const t = at.map(iso);
		const workerId = worker.id;
		expect(answer.json).toEqual({
			id,
			status: "COMPLETED",
			delayTime: 100,
			executionTime: 100,
			output: { fine: true },
			workerId,
			retries: 2,
			submittedAt: t[0],
			queuedAt: t[4],
			startedAt: t[5],
			endedAt: t[6],
			expiresAt: iso(at[6]! + 60_000),
			expired: false,
			operation: "run",
			lowPriority: true,
			policy: { ttl: 50_000, executionTimeout: 70_000 },
			webhook: body.webhook,
			s3Config: false,
			// Those that the retry removed keep their numbers.
			chunks: { written: 2, delivered: 2 },
			attempts: [
				{ attempt: 1, workerId, startedAt: t[1], endedAt: t[2], end: "lost", open: false },
				{ attempt: 2, workerId, startedAt: t[2], endedAt: t[3], end: "failed", open: false },
				{ attempt: 3, workerId, startedAt: t[5], endedAt: t[6], end: "completed", open: false },
			],
			timeline: [
				[t[0], "submitted"],
				[t[1], "started", 1],
				[t[2], "lost", 1],
				[t[2], "started", 2],
				[t[3], "failed", 2],
				[t[4], "retried"],
				[t[5], "started", 3],
				[t[6], "completed", 3],
			].map(([when, event, attempt]) => ({
				at: when,
				event,
				message: expect.stringMatching(/\.$/),
				...(attempt === undefined ? {} : { attempt, workerId }),
			})),
			input: { n: 1 },
		});
		expect(answer.text).not.toContain("very-secret");
	});

	it("D22: says only that there is an s3Config", async () => {
		const id = await submitted(service, ep, {
			input: {},
			s3Config: {
				accessId: "a",
				accessSecret: "very-secret",
				bucketName: "b",
				endpointUrl: "https://s3.test",
			},
		});
		const { json, text } = await admin.get(`/endpoints/${ep}/jobs/${id}`);
		expect(json.s3Config).toBe(true);
		expect(text).not.toMatch(/very-secret|s3\.test/);
		expect(await job(await submitted(service, ep))).toMatchObject({ s3Config: false });
	});

	it("D5: input and output come as they were sent, byte for byte", async () => {
		const worker = await handWorker(service, ep);
		const [input, output] = [
			'{"seed": 18446744073709551615, "x": 1.0, "x": "\\u00e9"}',
			'{"b": 1e400, "a": [0.10, -0]}',
		];
		const { json } = await call(service.url, `/v2/${ep}/run`, { text: `{"input": ${input}}` });
		await worker.takeThis(json.id);
		await worker.done(json.id, `{"output": ${output}}`);
		const { text } = await admin.get(`/endpoints/${ep}/jobs/${json.id}`);
		expect(text).toContain(`"input":${input}`);
		expect(text).toContain(`"output":${output}`);
	});

	it("D39: the job of another endpoint, and an unknown one, are 404", async () => {
		const id = await submitted(service, ep);
		for (const path of [`/endpoints/slow/jobs/${id}`, `/endpoints/${ep}/jobs/none`, `/endpoints/${ep}/jobs/%00`])
			expectError(await admin.get(path), 404, "job_not_found");
	});
});
