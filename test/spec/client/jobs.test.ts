/** Section 2.2 and 2.5: the job object, and what a worker gets. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { manualClock } from "../../support/manual-clock.ts";
import { writtenIn } from "../../support/service-store.ts";
import { call, startService, type TestService } from "../../support/service.ts";
import { endWith, handWorker, type HandWorker, statusOf, submitted } from "../hand-worker.ts";

const LEASE_MS = 20_000;
const clock = manualClock();
let service: TestService;
let worker: HandWorker;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {} }, clock });
	worker = await handWorker(service, "ep");
});
afterAll(() => endWith(service, clock));

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const read = (id: string): Promise<any> => statusOf(service, "ep", id);

/** Moves time while the worker lives on. */
async function pass(ms: number, ...held: string[]): Promise<void> {
	for (let left = ms; left > 0; left -= 5000) {
		await clock.advance(Math.min(left, 5000));
		await worker.ping(...held);
	}
}

describe("the job object", () => {
	it("D6: exact members in every state on the way to COMPLETED; both times grow, then stand", async () => {
		const answer = await call(service.url, "/v2/ep/run", { body: { input: {} } });
		expect(Object.keys(answer.json)).toEqual(["id", "status"]);
		const { id } = answer.json;
		expect(id).toMatch(UUID_V7);
		expect(await read(id)).toEqual({ id, status: "IN_QUEUE", delayTime: 0, executionTime: 0 });
		await clock.advance(1234);
		expect(await read(id)).toEqual({ id, status: "IN_QUEUE", delayTime: 1234, executionTime: 0 });
		await worker.takeThis(id);
		expect(await read(id)).toEqual({
			id,
			status: "IN_PROGRESS",
			delayTime: 1234,
			executionTime: 0,
			workerId: worker.id,
		});
		await pass(7777, id);
		expect(await read(id)).toEqual({
			id,
			status: "IN_PROGRESS",
			delayTime: 1234,
			executionTime: 7777,
			workerId: worker.id,
		});
		await worker.done(id, { status: "IN_PROGRESS", output: { step: 1 } });
		expect(await read(id)).toEqual({
			id,
			status: "IN_PROGRESS",
			delayTime: 1234,
			executionTime: 7777,
			output: { step: 1 },
			workerId: worker.id,
		});
		await worker.done(id, { output: [1, null] });
		await pass(5000);
		expect(await read(id)).toEqual({
			id,
			status: "COMPLETED",
			delayTime: 1234,
			executionTime: 7777,
			output: [1, null],
			workerId: worker.id,
		});
	});

	it("D6: without output the member is absent, also when progress was sent", async () => {
		const id = await submitted(service, "ep");
		await worker.takeThis(id);
		await worker.done(id, { status: "IN_PROGRESS", output: "half" });
		await worker.done(id, {});
		expect(await read(id)).toEqual({
			id,
			status: "COMPLETED",
			delayTime: 0,
			executionTime: 0,
			workerId: worker.id,
		});
	});

	it("D6: an output of null, false, 0 or empty text is an output", async () => {
		for (const output of [null, false, 0, "", [], {}]) {
			const id = await submitted(service, "ep");
			await worker.takeThis(id);
			await worker.done(id, { output });
			expect(await read(id)).toMatchObject({ status: "COMPLETED", output });
		}
	});

	it.each<[unknown, string]>([
		["plain", "plain"],
		["", ""],
		[{ a: [1] }, '{"a":[1]}'],
		[7, "7"],
		[true, "true"],
		[["x"], '["x"]'],
	])("D6: the error %j of a worker is returned as text", async (error, expected) => {
		const id = await submitted(service, "ep");
		await worker.takeThis(id);
		await worker.done(id, { error, output: { detail: 1 } });
		expect(await read(id)).toEqual({
			id,
			status: "FAILED",
			delayTime: 0,
			executionTime: 0,
			output: { detail: 1 },
			error: expected,
			workerId: worker.id,
		});
	});

	it("D6: after a loss the times are those of the last attempt, and retries counts", async () => {
		const id = await submitted(service, "ep");
		await clock.advance(1000);
		await worker.takeThis(id);
		await clock.advance(LEASE_MS);
		// A later take with nothing in progress proves the old attempt of the lost job over: it comes back to this worker.
		await worker.takeThis(id);
		await clock.advance(300);
		expect(await read(id)).toEqual({
			id,
			status: "IN_PROGRESS",
			delayTime: 0,
			executionTime: 300,
			workerId: worker.id,
			retries: 1,
		});
		await worker.done(id, { output: 1 });
		expect(await read(id)).toEqual({
			id,
			status: "COMPLETED",
			delayTime: 0,
			executionTime: 300,
			output: 1,
			workerId: worker.id,
			retries: 1,
		});
	});

	it("D6: the id of a /runsync job begins with sync-; its answer is the object of /status", async () => {
		const answer = call(service.url, "/v2/ep/runsync", { body: { input: { a: 1 } } });
		const taken = (await worker.take())!;
		expect(taken.id).toMatch(new RegExp(`^sync-${UUID_V7.source.slice(1)}`));
		await clock.advance(40);
		await worker.done(taken.id, { output: "x" });
		const { json, text } = await answer;
		expect(json).toEqual({
			id: taken.id,
			status: "COMPLETED",
			delayTime: 0,
			executionTime: 40,
			output: "x",
			workerId: worker.id,
		});
		expect((await call(service.url, `/v2/ep/status/${taken.id}`)).text).toBe(text);
	});

	it("D6: /run answers IN_QUEUE even when a worker takes the job in the same tick", async () => {
		const polls = worker.take();
		const { json } = await call(service.url, "/v2/ep/run", { body: { input: {} } });
		const taken = (await polls)!;
		expect(json).toEqual({ id: taken.id, status: "IN_QUEUE" });
		await worker.done(taken.id, {});
	});

	it("D6: ids of jobs submitted later sort later", async () => {
		const ids: string[] = [];
		for (let count = 0; count < 5; count += 1) {
			ids.push(await submitted(service, "ep"));
			await clock.advance(1);
		}
		expect(ids.toSorted()).toEqual(ids);
		for (const id of ids) await call(service.url, `/v2/ep/cancel/${id}`, { method: "POST" });
	});

	it("A.6: every success is exactly 200 with application/json on one line", async () => {
		const id = await submitted(service, "ep");
		for (const [method, operation] of [
			["POST", "run"],
			["GET", `status/${id}`],
			["POST", `status/${id}`],
			["POST", `cancel/${id}`],
			["GET", `status-sync/${id}`],
			["POST", `status-sync/${id}`],
			["GET", `stream/${id}`],
			["POST", `stream/${id}`],
			["GET", "health"],
		] as const) {
			for (const prefix of ["/v2", "/sdk/v2"]) {
				const answer = await call(service.url, `${prefix}/ep/${operation}`, {
					method,
					...(operation === "run" ? { body: { input: {} } } : {}),
				});
				expect(answer.status, operation).toBe(200);
				expect(answer.headers.get("content-type"), operation).toBe("application/json");
				expect(answer.text).not.toContain("\n");
				if (operation === "run") await call(service.url, `/v2/ep/cancel/${answer.json.id}`, { method: "POST" });
			}
		}
	});

	it("A.6: empty bodies labelled JSON are no fault where no body is needed", async () => {
		const id = await submitted(service, "ep");
		for (const operation of ["status", "cancel", "status-sync", "stream"]) {
			for (const text of ["", "{}", "nonsense"]) {
				const answer = await call(service.url, `/v2/ep/${operation}/${id}`, {
					method: "POST",
					text,
				});
				expect(answer.status, `${operation} with ${text}`).toBe(200);
			}
		}
	});
});

describe("s3Config", () => {
	const SECRET = "s3-secret-7f3c9a51e2";
	const s3Config = {
		accessId: `id-${SECRET}`,
		accessSecret: SECRET,
		bucketName: "bucket",
		endpointUrl: "https://s3.test",
		objectPath: "a/b",
	};

	it("spec 2.5, D22: the worker gets it as it came, and no answer, event or file has it in clear", async () => {
		const expected: string[] = [];
		const remove = service.events.onAny((name, facts) =>
			expected.push(
				name + JSON.stringify(facts, (_, value: unknown) => (value instanceof Error ? value.stack : value)),
			),
		);
		const text = JSON.stringify({ input: {}, s3Config }).replace('"bucketName":', '"bucketName" : ');
		const submit = await call(service.url, "/v2/ep/run", { text });
		const { id } = submit.json;
		const waiting = await call(service.url, `/v2/ep/status/${id}`);
		const taken = await worker.takeThis(id);
		expect(taken.s3Config).toEqual(s3Config);
		expect(taken.text).toContain('"bucketName" : ');
		const running = await call(service.url, `/v2/ep/status/${id}`);
		await worker.done(id, { output: 1 });
		const ended = await call(service.url, `/v2/ep/status/${id}`);
		const stream = await call(service.url, `/v2/ep/stream/${id}`);
		const endpoints = await call(service.url, "/v1/endpoints");
		remove();
		for (const answer of [submit, waiting, running, ended, stream, endpoints])
			expect(answer.text).not.toContain(SECRET);
		expect(expected.length).toBeGreaterThan(2);
		expect(expected.join("\n")).not.toContain(SECRET);
		const contents = await writtenIn(service.folder.path);
		// The database is among what was read: it knows the job.
		expect(contents.some((bytes) => bytes.includes(id))).toBe(true);
		for (const bytes of contents) expect(bytes.includes(SECRET)).toBe(false);
	});

	it("D22: without it, or with null, the worker's job has no such member", async () => {
		for (const body of [{ input: {} }, { input: {}, s3Config: null }]) {
			const id = await submitted(service, "ep", body);
			expect(await worker.takeThis(id)).not.toHaveProperty("s3Config");
			await worker.done(id, {});
		}
	});

	it("spec 2.3: webhook and policy are not passed to the worker's input or shown in answers", async () => {
		const id = await submitted(service, "ep", {
			input: { a: 1 },
			webhook: "http://a.test/hook",
			policy: { ttl: 20_000 },
		});
		expect((await worker.takeThis(id)).input).toEqual({ a: 1 });
		await worker.done(id, {});
		expect(Object.keys(await read(id)).toSorted()).toEqual(["delayTime", "executionTime", "id", "status", "workerId"]);
	});
});
