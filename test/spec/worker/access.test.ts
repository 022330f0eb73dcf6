/**
 * Who may poll and report: worker tokens, paced refusals, two processes under one id, draining
 * (D26, D34; protocol B.2, B.3).
 */
import { advanceUntil } from "../../support/manual-clock.ts";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Answer, sdkProtocol, type SdkProtocol } from "../../support/sdk-protocol.ts";
import type { SdkWorker } from "../../support/sdk-worker.ts";
import { bench, type Bench, idsOf, workerEnvOf } from "../../support/sdk-worker-bench.ts";
import { KEY, call, folder } from "../../support/service.ts";
import { untilTrue } from "../../support/until.ts";

const PACE_MS = 5000;

let b: Bench;
let impostors: SdkProtocol[];
let elsewhere: string;
beforeAll(async () => {
	b = await bench();
});
beforeEach(async () => {
	impostors = [];
	await b.fresh();
	elsewhere = await b.endpoint();
});
afterEach(() => {
	for (const impostor of impostors) impostor.close();
});
afterAll(() => b?.end());

/** The worker with other variables. */
function changed(worker: SdkProtocol, env: Record<string, string>): SdkProtocol {
	const impostor = sdkProtocol({ ...worker.env, ...env });
	impostors.push(impostor);
	return impostor;
}

/** Its variables with another text in the addresses. */
function addressed({ env }: SdkProtocol, from: string, to: string): Record<string, string> {
	return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value.replace(from, to)]));
}

/** An answer that comes after the pause of refused polls, not before, and not after another one. */
async function paced(ask: () => Promise<Answer>, at = b): Promise<Answer> {
	const pauses = (): number => at.slept.filter((ms) => ms === PACE_MS).length;
	const before = pauses();
	let answered = false;
	const answer = ask().finally(() => (answered = true));
	answer.catch(() => {});
	await untilTrue(() => answered || pauses() > before);
	await at.clock.advance(PACE_MS - 1);
	expect(answered, "answered too soon").toBe(false);
	// A loop of the service may have begun to wait just as long: then the poll's own pause began
	// later than the one seen.
	for (let late = 0; !answered && late < PACE_MS; late += 1) await at.clock.advance(1);
	expect(answered, "answered too late").toBe(true);
	return await answer;
}

function expectError({ status, type, text }: Answer, wanted: number, code: string): void {
	expect({ status, type }, text).toEqual({ status: wanted, type: "application/json" });
	const body = JSON.parse(text) as Record<string, unknown>;
	expect(body).toEqual({ error: expect.stringMatching(/\.$/), code });
}

describe("D26: a worker's token is good for its worker id and endpoint only", () => {
	const CASES: [string, (worker: SdkProtocol) => Promise<SdkProtocol>][] = [
		["no token", async (worker) => changed(worker, { RUNPOD_AI_API_KEY: "" })],
		["an unknown token", async (worker) => changed(worker, { RUNPOD_AI_API_KEY: "sluice_worker_0000" })],
		["an API key", async (worker) => changed(worker, { RUNPOD_AI_API_KEY: KEY })],
		[
			"the token of another worker of the endpoint",
			async (worker) => changed(worker, { RUNPOD_AI_API_KEY: (await b.worker()).env["RUNPOD_AI_API_KEY"]! }),
		],
		[
			"the token of another endpoint's worker",
			async (worker) =>
				changed(worker, {
					RUNPOD_AI_API_KEY: (await b.worker(elsewhere)).env["RUNPOD_AI_API_KEY"]!,
				}),
		],
		[
			"its own token on another endpoint",
			async (worker) => changed(worker, addressed(worker, `/worker/${b.ep}/`, `/worker/${elsewhere}/`)),
		],
		[
			"its own token on an endpoint that does not exist",
			async (worker) => changed(worker, addressed(worker, `/worker/${b.ep}/`, "/worker/nowhere/")),
		],
		["a worker id that cannot be one", async (worker) => changed(worker, addressed(worker, worker.id, "a%20b"))],
	];

	it.each(CASES)(
		"%s: 401, on polls after 5 s, on posts and pings at once; nothing is handed out or changed",
		async (_, make) => {
			const worker = await b.worker();
			const impostor = await make(worker);
			const id = await b.submit();
			await b.takes(worker, id);
			const waiting = await b.submit();
			for (const poll of [() => impostor.take(), () => impostor.takeBatch({ size: 2 }), () => impostor.stop()])
				expectError(await paced(poll), 401, "worker_unauthorized");
			for (const post of [
				() => impostor.done(id, { output: "stolen" }),
				() => impostor.chunk(id, { output: "stolen" }),
				() => impostor.ping([id]),
			])
				expectError(await post(), 401, "worker_unauthorized");
			expect(await b.status(waiting)).toMatchObject({ status: "IN_QUEUE" });
			await worker.done(id, { output: "mine" });
			expect(await b.status(id)).toMatchObject({ status: "COMPLETED", output: "mine" });
			expect((await b.call(`stream/${id}?offset=0`)).json).toEqual([]);
		},
	);

	it("a worker's token opens no route of clients or operators", async () => {
		const { env } = await b.worker();
		const key = env["RUNPOD_AI_API_KEY"]!;
		const id = await b.submit();
		for (const [method, path] of [
			["POST", `/v2/${b.ep}/run`],
			["POST", `/v2/${b.ep}/runsync`],
			["GET", `/v2/${b.ep}/status/${id}`],
			["GET", `/v2/${b.ep}/stream/${id}`],
			["POST", `/v2/${b.ep}/cancel/${id}`],
			["GET", `/v2/${b.ep}/health`],
			["GET", "/v1/endpoints"],
		] as const) {
			const answer = await call(b.url, path, {
				method,
				key,
				...(method === "POST" ? { body: { input: {} } } : {}),
			});
			expect({ path, status: answer.status, code: answer.json.code }).toEqual({
				path,
				status: 401,
				code: "unauthorized",
			});
		}
		expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE" });
	});

	it("the token is accepted bare, as SDKs send it, and with the scheme word", async () => {
		const worker = await b.worker();
		const id = await b.submit();
		expect(
			idsOf(
				await changed(worker, {
					RUNPOD_AI_API_KEY: `Bearer ${worker.env["RUNPOD_AI_API_KEY"]!}`,
				}).take(),
			),
		).toEqual([id]);
	});

	it("D36: a token for replicas is good for many worker ids of its endpoint, each with jobs of its own", async () => {
		const env = await workerEnvOf(b.url, b.ep, { replicas: true });
		expect(env).not.toHaveProperty("RUNPOD_POD_ID");
		const [one, two] = ["host-1", "host-2"].map((id) => {
			const protocol = sdkProtocol({ ...env, RUNPOD_POD_ID: id });
			impostors.push(protocol);
			return protocol;
		}) as [SdkProtocol, SdkProtocol];
		const ids = [await b.submit(), await b.submit()];
		await b.takes(one, ids[0]!);
		await b.takes(two, ids[1]!);
		await two.done(ids[0]!, { output: "not mine" });
		expect(await b.status(ids[0]!)).toMatchObject({ status: "IN_PROGRESS", workerId: "host-1" });
	});

	it("D26: one worker id on two endpoints is two workers: each gets the jobs of its own endpoint", async () => {
		const other = await b.endpoint();
		const [here, there] = (await Promise.all(
			[b.ep, other].map(async (ep) => {
				const protocol = sdkProtocol({
					...(await workerEnvOf(b.url, ep, { replicas: true })),
					RUNPOD_POD_ID: "one-host",
				});
				impostors.push(protocol);
				return protocol;
			}),
		)) as [SdkProtocol, SdkProtocol];
		const id = await b.submit();
		await b.takes(here, id);
		const answer = there.take();
		const theirs = (await call(b.url, `/v2/${other}/run`, { body: { input: {} } })).json.id as string;
		expect(idsOf(await answer)).toEqual([theirs]);
		await here.done(id, { output: 1 });
		expect(await b.status(id)).toMatchObject({ status: "COMPLETED", workerId: "one-host" });
	});
});

describe("B.3, B.8: SDK workers that are refused ask few times a minute, though they begin again at once", () => {
	/** Polls of each kind in five minutes. */
	async function asked(worker: SdkWorker, at: Bench): Promise<{ takes: number; stops: number }> {
		const sent = (kind: string): number => worker.protocol.sent.filter(({ path }) => path.includes(kind)).length;
		const before = { takes: sent("/job-take"), stops: sent("/job-stop/") };
		for (let second = 0; second < 300; second += 1) await at.pass(1000);
		return { takes: sent("/job-take") - before.takes, stops: sent("/job-stop/") - before.stops };
	}

	it("row 401: with a token that is not good", async () => {
		const env = { ...(await b.worker()).env, RUNPOD_AI_API_KEY: "sluice_worker_0000" };
		const worker = await b.sdk({ env, handler: () => 1 });
		await untilTrue(() => worker.protocol.open === 2);
		const { takes, stops } = await asked(worker, b);
		for (const count of [takes, stops]) {
			expect(count).toBeGreaterThan(5);
			expect(count).toBeLessThanOrEqual(60);
		}
		expect(new Set(worker.errors)).toEqual(
			new Set(["Failed to get job, status code: 401", "Failed to get stops, status code: 401"]),
		);
	});

	it("row 429: while the service drains", async () => {
		const drained = await bench({ drainSeconds: 1000 });
		let finish = (): void => {};
		const worker = await drained.sdk({
			concurrency: 2,
			pingEveryMs: 0,
			handler: () => new Promise((resolve) => (finish = () => resolve("done"))),
		});
		const id = await drained.submit();
		await untilTrue(() => worker.began.length === 1);
		const seen = drained.service.engine.workers.recordCall(worker.protocol);
		await untilTrue(() => seen.takes + seen.stops === 2);
		let over = false;
		const stopped = drained.service.stop().then(() => (over = true));
		try {
			const { takes, stops } = await asked(worker, drained);
			for (const count of [takes, stops]) {
				expect(count).toBeGreaterThan(5);
				expect(count).toBeLessThanOrEqual(31);
			}
			expect(worker.errors).toEqual([]);
			const settled = drained.next("job.settled");
			finish();
			expect(await drained.reached(settled)).toMatchObject({ id, state: "COMPLETED" });
		} finally {
			await worker.kill();
			await advanceUntil(drained.clock, () => over, 1000);
			await stopped;
			drained.service.folder.remove();
		}
	});
});

describe("D26: two processes polling under one id", () => {
	it("the later one is refused after 5 s and reported; the first gets the job", async () => {
		const worker = await b.worker();
		const twin = changed(worker, {});
		const { answer } = await b.held(worker, (signal) => worker.take({ signal }));
		expectError(await paced(() => twin.take()), 409, "duplicate_worker_id");
		expectError(await paced(() => twin.takeBatch({ size: 2 })), 409, "duplicate_worker_id");
		expect(b.of("worker.duplicate")).toEqual(Array.from({ length: 2 }, () => ({ endpoint: b.ep, worker: worker.id })));
		const id = await b.submit();
		expect(idsOf(await answer)).toEqual([id]);
	});

	it("a later take with job_in_progress=0 of the twin proves nothing against the first", async () => {
		const worker = await b.worker();
		const id = await b.submit();
		await b.takes(worker, id);
		await b.clock.advance(1);
		await b.held(worker, (signal) => worker.take({ busy: true, signal }));
		expectError(await paced(() => changed(worker, {}).take({ busy: false })), 409, "duplicate_worker_id");
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
	});

	it("a stop poll beside a take is no second process", async () => {
		const worker = await b.worker();
		await b.held(worker, (signal) => worker.take({ signal }));
		await b.held(worker, (signal) => worker.stop({ signal }));
		expect(b.of("worker.duplicate")).toEqual([]);
	});
});

describe("D34: draining", () => {
	it("answers open polls with 204, refuses later ones after 5 s, and keeps reports of running jobs", async () => {
		const place = folder();
		const drained = await bench({ in: place, drainSeconds: 30 });
		try {
			const [worker, newcomer] = [await drained.worker(), await drained.worker()];
			const [first, second] = [await drained.submit(), await drained.submit()];
			expect(idsOf(await worker.takeBatch({ size: 2 }))).toEqual([first, second]);
			const polls = [
				await drained.held(worker, (signal) => worker.take({ busy: true, signal })),
				await drained.held(worker, (signal) => worker.stop({ signal })),
			];
			let over = false;
			const stopped = drained.service.stop().then(() => (over = true));
			for (const { answer } of polls) expect(await answer).toEqual({ status: 204, type: "", text: "" });
			for (const poller of [worker, newcomer])
				expectError(await paced(() => poller.take({ busy: poller === worker }), drained), 429, "draining");
			expect((await worker.done(first, { output: 1 })).status).toBe(200);
			expect(over).toBe(false);
			expect((await worker.done(second, { output: 2 })).status).toBe(200);
			await advanceUntil(drained.clock, () => over, 100);
			await stopped;
			const next = await bench({ in: place, startAt: drained.clock.now() });
			try {
				expect(await next.status(first)).toMatchObject({ status: "COMPLETED", output: 1 });
				expect(await next.status(second)).toMatchObject({ status: "COMPLETED", output: 2 });
			} finally {
				await next.end();
			}
		} finally {
			place.remove();
		}
	});
});
