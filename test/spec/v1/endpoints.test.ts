/** `/v1/endpoints`: made, changed, paused; their workers (D27, D29, D39). */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ENDPOINT_DEFAULTS } from "../../../src/kernel/core/endpoints/endpoint.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { call, folder, startService, type TestService } from "../../support/service.ts";
import { begun, endWith, expectError, handWorker, submitted } from "../hand-worker.ts";
import { MOMENT, operator, type Operator } from "../operator.ts";

let service: TestService;
let admin: Operator;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {} } });
	admin = operator(service);
});
afterAll(() => service?.end());

let made = 0;
/** A new endpoint of its own for a test. */
async function endpoint(settings: object = {}): Promise<string> {
	made += 1;
	const { status, json, text } = await admin.post("/endpoints", {
		id: `made-${made}`,
		...settings,
	});
	expect(status, text).toBe(201);
	return json.id;
}

const NO_JOBS = { inQueue: 0, inProgress: 0, completed: 0, failed: 0, retried: 0 };
const NO_WORKERS = { idle: 0, initializing: 0, ready: 0, running: 0, throttled: 0, unhealthy: 0 };

describe("POST /v1/endpoints", () => {
	it("D27, D39: makes an endpoint with every default, known at once", async () => {
		const { status, json } = await admin.post("/endpoints", { id: "plain" });
		expect(status).toBe(201);
		const { env: _, ...defaults } = ENDPOINT_DEFAULTS;
		expect(json).toEqual({
			id: "plain",
			name: "plain",
			...defaults,
			env: [],
			version: 1,
			webhookSecretSet: true,
			paused: false,
			createdAt: MOMENT,
			jobs: NO_JOBS,
			workers: NO_WORKERS,
		});
		expect(await admin.seen("/endpoints/plain")).toEqual(json);
		expect((await call(service.url, "/v2/plain/health")).status).toBe(200);
		await submitted(service, "plain");
	});

	it("D39: without an id it gets one", async () => {
		const { status, json } = await admin.post("/endpoints", { name: "Anonymous" });
		expect(status).toBe(201);
		expect(json).toMatchObject({ id: expect.stringMatching(/^[0-9a-f]{14}$/), name: "Anonymous" });
		expect((await call(service.url, `/v2/${json.id}/health`)).status).toBe(200);
	});

	it("D2: every bad setting is named with its bound, and nothing is made", async () => {
		const bad = {
			id: "bad",
			workersMin: 5,
			workersMax: 2,
			idleTimeout: 0,
			colour: "blue",
			launcher: { type: "nomad" },
			webhookSecret: "short",
		};
		const { details } = expectError(await admin.post("/endpoints", bad), 400, "bad_request");
		expect(details.map(({ field }: { field: string }) => field).toSorted()).toEqual([
			"colour",
			"idleTimeout",
			"launcher.type",
			"webhookSecret",
			"workersMin",
		]);
		expectError(await admin.get("/endpoints/bad"), 404, "endpoint_not_found");
		for (const id of ["a b", "", "x".repeat(65), 7])
			expectError(await admin.post("/endpoints", { id }), 400, "bad_request", ["id"]);
	});

	it("D39: an id that is taken is 409; of two at once one is made", async () => {
		expectError(await admin.post("/endpoints", { id: "ep" }), 409, "endpoint_exists");
		const both = await Promise.all([
			admin.post("/endpoints", { id: "twice", name: "a" }),
			admin.post("/endpoints", { id: "twice", name: "b" }),
		]);
		expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409]);
		const winner = both.find(({ status }) => status === 201);
		expect((await admin.seen("/endpoints/twice")).name).toBe(winner?.json.name);
	});

	it.each([
		"",
		"[]",
		"null",
		'"x"',
		"{",
		`${"[".repeat(600)}${"]".repeat(600)}`,
		`{"env":${"[".repeat(600)}${"]".repeat(600)}}`,
	])("D4: the body %j is 400", async (text) => {
		expectError(await call(service.url, "/v1/endpoints", { method: "POST", text }), 400, "bad_json");
	});

	it("D3: a body of nearly 1 MB is read, a larger one is 413", async () => {
		const env = (size: number): object => ({ id: "big", env: { BIG: "x".repeat(size) } });
		expect((await admin.post("/endpoints", env(1_000_000))).status).toBe(201);
		expectError(await admin.post("/endpoints", env(1_048_576)), 413, "body_too_large");
	});

	it("D39: outlives a restart, with its settings, its pause and its time", async () => {
		const place = folder();
		try {
			const first = await startService({ endpoints: {}, in: place });
			const settings = {
				id: "kept",
				workersMax: 7,
				env: { A: "1" },
				limits: { run: { per10s: 5 }, queue: "off" },
				launcher: { type: "process", command: ["sleep", "1"] },
				workersMin: 0,
			};
			expect((await operator(first).post("/endpoints", settings)).status).toBe(201);
			const before = (await operator(first).post("/endpoints/kept/pause")).json;
			await first.end();
			const second = await startService({ endpoints: {}, in: place });
			expect(await operator(second).seen("/endpoints/kept")).toEqual(before);
			expect(before).toMatchObject({
				workersMax: 7,
				env: ["A"],
				limits: { run: { per10s: 5 }, queue: "off" },
				paused: true,
			});
			await second.end();
		} finally {
			place.remove();
		}
	});
});

describe("PATCH /v1/endpoints/{endpoint}", () => {
	it("D39: merges: objects member by member, null brings a default back, the rest stays", async () => {
		const id = await endpoint({
			workersMax: 9,
			idleTimeout: 60,
			env: { A: "1", B: "2" },
			retention: { run: 1000, records: 5000 },
		});
		const { status, json } = await admin.patch(`/endpoints/${id}`, {
			idleTimeout: null,
			env: { A: null, C: "3" },
			retention: { run: 2000 },
		});
		expect(status).toBe(200);
		expect(json).toMatchObject({
			workersMax: 9,
			idleTimeout: 5,
			retention: { run: 2000, runsync: 60_000, records: 5000 },
		});
		expect(json.env.toSorted()).toEqual(["B", "C"]);
		expect(await admin.seen(`/endpoints/${id}`)).toEqual(json);
	});

	it("D2: a bad change is 400 with its field, and changes nothing", async () => {
		const id = await endpoint({ workersMin: 2, workersMax: 3 });
		expectError(await admin.patch(`/endpoints/${id}`, { workersMax: 1, idleTimeout: 9 }), 400, "bad_request", [
			"workersMin",
		]);
		expectError(await admin.patch(`/endpoints/${id}`, { id: "other" }), 400, "bad_request", ["id"]);
		expect(await admin.seen(`/endpoints/${id}`)).toMatchObject({ workersMax: 3, idleTimeout: 5 });
		expectError(await admin.patch("/endpoints/nowhere", {}), 404, "endpoint_not_found");
	});

	it("D24, D35: changed limits count from the next request on", async () => {
		const id = await endpoint();
		await submitted(service, id);
		await submitted(service, id);
		expect((await admin.patch(`/endpoints/${id}`, { limits: { run: { per10s: 0 } } })).status).toBe(200);
		expectError(await call(service.url, `/v2/${id}/run`, { body: { input: {} } }), 429, "rate_limited");
		expect((await admin.patch(`/endpoints/${id}`, { limits: { run: null, queue: 1 } })).status).toBe(200);
		expectError(await call(service.url, `/v2/${id}/run`, { body: { input: {} } }), 429, "queue_full");
		expect((await admin.patch(`/endpoints/${id}`, { limits: "off" })).status).toBe(200);
		await submitted(service, id);
	});

	it("D39: of many changes at once none is lost", async () => {
		const id = await endpoint();
		const names = Array.from({ length: 20 }, (_, index) => `V${index}`);
		const answers = await Promise.all(names.map((name) => admin.patch(`/endpoints/${id}`, { env: { [name]: "x" } })));
		expect(answers.map(({ status }) => status)).toEqual(names.map(() => 200));
		expect((await admin.seen(`/endpoints/${id}`)).env.toSorted()).toEqual(names.toSorted());
	});
});

describe("pause and resume", () => {
	it("D29: jobs are accepted and queued, not handed out; at resume a worker that waits gets one at once", async () => {
		const clock = manualClock();
		const still = await startService({ endpoints: { ep: {} }, clock });
		try {
			const { post, seen } = operator(still);
			const worker = await handWorker(still, "ep");
			expect(await post("/endpoints/ep/pause")).toMatchObject({
				status: 200,
				json: { id: "ep", paused: true },
			});
			const jobs = [await submitted(still, "ep"), await submitted(still, "ep")];
			const parked = await begun(still.url, `/worker/ep/job-take/${worker.id}?gpu=none&job_in_progress=0`, {
				headers: { authorization: worker.token },
			});
			await clock.advance(10_000);
			expect(await seen("/endpoints/ep")).toMatchObject({
				paused: true,
				jobs: { inQueue: 2, inProgress: 0 },
			});
			expect(parked.over()).toBe(false);
			expect(await post("/endpoints/ep/resume", {})).toMatchObject({
				status: 200,
				json: { id: "ep", paused: false },
			});
			expect((await parked.answer).json.id).toBe(jobs[0]);
		} finally {
			await endWith(still, clock);
		}
	});

	it("D29: both may be repeated, and a body that is no object is 400", async () => {
		const id = await endpoint();
		for (const paused of [true, true, false, false]) {
			expect((await admin.post(`/endpoints/${id}/${paused ? "pause" : "resume"}`)).json.paused).toBe(paused);
			expect((await admin.seen(`/endpoints/${id}`)).paused).toBe(paused);
		}
		for (const text of ["[]", "true", "{"])
			expectError(await call(service.url, `/v1/endpoints/${id}/pause`, { text }), 400, "bad_json");
		expect((await admin.seen(`/endpoints/${id}`)).paused).toBe(false);
	});
});

describe("GET /v1/endpoints/{endpoint}/workers", () => {
	it("D39: returns what each worker does, and which jobs it holds", async () => {
		const id = await endpoint();
		expect((await admin.seen(`/endpoints/${id}/workers`)).workers).toEqual([]);
		const worker = await handWorker(service, id);
		const job = await submitted(service, id);
		await worker.takeThis(job);
		const shown = { id: worker.id, launcher: "external", createdAt: MOMENT, readyAt: MOMENT, seenAt: MOMENT };
		expect((await admin.seen(`/endpoints/${id}/workers`)).workers).toEqual([
			{ ...shown, state: "running", jobs: [job] },
		]);
		await worker.done(job, { output: {} });
		expect((await admin.seen(`/endpoints/${id}/workers`)).workers).toEqual([{ ...shown, state: "idle", jobs: [] }]);
		expect((await admin.seen(`/endpoints/${id}`)).workers).toMatchObject({ idle: 1, ready: 1 });
		const unfit = await call(
			service.url,
			`/worker/${id}/ping/${worker.id}?gpu=none&status=unhealthy&check=disk&reason=full`,
			{ headers: { authorization: worker.token } },
		);
		expect(unfit.status).toBe(200);
		expect((await admin.seen(`/endpoints/${id}/workers`)).workers).toMatchObject([{ state: "unhealthy" }]);
	});

	it("D25: a launched worker that has not called is initializing", async () => {
		const started = service.next("worker.launched");
		const id = await endpoint({
			workersMin: 1,
			stopGraceMs: 0,
			launcher: {
				type: "process",
				command: [process.execPath, "-e", "setInterval(() => {}, 1000)"],
			},
		});
		const { worker } = await started;
		expect((await admin.seen(`/endpoints/${id}/workers`)).workers).toMatchObject([
			{ id: worker, state: "initializing", launcher: "process", jobs: [] },
		]);
	});
});

it("D21: POST webhook-secret makes a new secret, returned once", async () => {
	const id = await endpoint();
	const first = await admin.post(`/endpoints/${id}/webhook-secret`);
	const second = await admin.post(`/endpoints/${id}/webhook-secret`);
	for (const { status, json } of [first, second]) {
		expect(status).toBe(200);
		expect(json).toEqual({
			webhookSecret: expect.stringMatching(/^whsec_[A-Za-z0-9+/=]{44}$/),
			formerWebhookSecretUntil: MOMENT,
		});
	}
	expect(first.json.webhookSecret).not.toBe(second.json.webhookSecret);
	const shown = await admin.get(`/endpoints/${id}`);
	expect(shown.text).not.toContain(second.json.webhookSecret);
	expect(shown.json.formerWebhookSecretUntil).toBe(second.json.formerWebhookSecretUntil);
});

it("D21: ?overlap= says how long the former secret signs: a day, at most a week, 0 for not at all", async () => {
	const id = await endpoint();
	const renew = (query: string) => admin.post(`/endpoints/${id}/webhook-secret${query}`);
	const lengthOf = async (query: string): Promise<number> =>
		Date.parse((await renew(query)).json.formerWebhookSecretUntil) - service.engine.now();
	expect(Math.round((await lengthOf("")) / 60_000)).toBe(1440);
	expect(Math.round((await lengthOf("?overlap=604800")) / 60_000)).toBe(10_080);
	expect(Object.keys((await renew("?overlap=0")).json)).toEqual(["webhookSecret"]);
	expect((await admin.seen(`/endpoints/${id}`)).formerWebhookSecretUntil).toBeUndefined();
	for (const query of ["?overlap=604801", "?overlap=-1", "?overlap=day"])
		expectError(await renew(query), 400, "bad_query", ["overlap"]);
});

it("D21: webhooks has a schedule, and whether the input is sent", async () => {
	const id = await endpoint();
	const patch = (webhooks: unknown) => admin.patch(`/endpoints/${id}`, { webhooks });
	expect((await admin.seen(`/endpoints/${id}`)).webhooks).toEqual({ schedule: "short", input: true });
	for (const webhooks of [
		{ schedule: "long", input: true },
		{ schedule: [1000, 86_400_000], input: false },
	])
		expect((await patch(webhooks)).json.webhooks).toEqual(webhooks);
	expect((await patch({ schedule: null })).json.webhooks).toEqual({ schedule: "short", input: false });
	for (const [webhooks, field] of [
		[{ schedule: "daily" }, "webhooks.schedule"],
		[{ schedule: [999] }, "webhooks.schedule.0"],
		[{ schedule: Array.from({ length: 13 }, () => 1000) }, "webhooks.schedule"],
		[{ disableAfterMs: 3_600_000 }, "webhooks.disableAfterMs"],
		[{ input: "no" }, "webhooks.input"],
		[{ retries: 3 }, "webhooks.retries"],
	] as const)
		expectError(await patch(webhooks), 400, "bad_request", [field]);
});

it("D36: worker-env wants the address that workers call", async () => {
	for (const query of [
		"",
		"?url=",
		"?url=ftp://a.test",
		"?url=http://a.test/?x",
		"?url=http://a.test&replicas=maybe",
		"?url=http://[",
		`?url=http://a.test${"/".repeat(2048)}x`,
	])
		expectError(await admin.post(`/endpoints/ep/worker-env${query}`), 400, "bad_query");
	const { status, json } = await admin.post("/endpoints/ep/worker-env?url=http://a.test/&replicas=true");
	expect(status).toBe(200);
	expect(json.env.RUNPOD_WEBHOOK_GET_JOB).toMatch(/^http:\/\/a\.test\/worker\/ep\/job-take\/\$ID/);
	expect(json.env).not.toHaveProperty("RUNPOD_POD_ID");
});
