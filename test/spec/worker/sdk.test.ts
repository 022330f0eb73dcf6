/**
 * Whole SDK workers against the service: what each kind of handler leads to, and concurrency
 * (protocol B.2 to B.6; D5, D16).
 */
import { advanceUntil } from "../../support/manual-clock.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/kernel/system/clock.ts";
import { sdkFront } from "../../support/sdk-front.ts";
import { type SdkHandler, type SdkWorker, sdkWorker } from "../../support/sdk-worker.ts";
import { bench, type Bench, movedEnv } from "../../support/sdk-worker-bench.ts";
import { untilTrue } from "../../support/until.ts";

let b: Bench;
beforeAll(async () => {
	b = await bench();
});
beforeEach(() => b.fresh());
afterAll(() => b?.end());

const runsync = async (input: object = {}): Promise<any> => (await b.call(`runsync`, { body: { input } })).json;
const posts = ({ protocol }: SdkWorker): { path: string; body: unknown }[] =>
	protocol.sent
		.filter(({ method }) => method === "POST")
		.map(({ path, body }) => ({
			path: path.replace(/^\/worker\/[^/]+\/(job-\w+)\/[^?]+/, "$1"),
			body: JSON.parse(body),
		}));

describe("B.2: the fake speaks as the traces do", () => {
	it("takes, posts and pings with the SDK's addresses and headers", async () => {
		const sdk = await b.sdk({ handler: ({ input }) => ({ echo: input }), pingEveryMs: 0 });
		const { id } = await runsync({ prompt: "hé" });
		await untilTrue(() => sdk.protocol.sent.filter(({ path }) => path.includes("job-take")).length >= 2);
		const token = sdk.protocol.env["RUNPOD_AI_API_KEY"];
		const take = sdk.protocol.sent.find(
			({ path }) => path === `/worker/${b.ep}/job-take/${sdk.protocol.id}?gpu=none&job_in_progress=0`,
		);
		expect(take).toMatchObject({
			method: "GET",
			headers: { Authorization: token, "Content-Type": "application/json" },
		});
		const done = sdk.protocol.sent.find(
			({ path }) => path === `/worker/${b.ep}/job-done/${sdk.protocol.id}/${id}?gpu=none&isStream=false`,
		);
		expect(done).toMatchObject({
			method: "POST",
			body: '{"output":{"echo":{"prompt":"hé"}}}',
			headers: {
				"Content-Type": "application/x-www-form-urlencoded",
				charset: "utf-8",
				"X-Request-ID": id,
			},
		});
		expect(sdk.protocol.sent.findLast(({ path }) => path.includes("job-take"))!.headers).toMatchObject({
			"X-Request-ID": id,
		});
		expect(sdk.protocol.sent.some(({ path }) => path === `/worker/${b.ep}/job-stop/${sdk.protocol.id}?gpu=none`)).toBe(
			true,
		);
		await sdk.protocol.ping(["b-2", "b-1"]);
		expect(sdk.protocol.sent.at(-1)).toMatchObject({
			path: `/worker/${b.ep}/ping/${sdk.protocol.id}?gpu=none&job_id=b-2%2Cb-1&runpod_version=1.12.0`,
			headers: { "User-Agent": "python-requests/2.28.1", Authorization: token },
		});
	});

	it("B.6: posts again only after 5xx, after 2 s and 3 s; 4xx and a cut connection lose the result", async () => {
		const script: (number | "cut")[] = [500, 503, 200, 400, "cut", 502, 502, 502];
		let jobs = 5;
		const front = await sdkFront((req, res) => {
			req.resume();
			if (!req.url!.includes("job-take")) {
				const next = req.url!.includes("job-done") ? script.shift()! : 204;
				if (next === "cut") return void req.socket.destroy();
				return void res.writeHead(next).end();
			}
			if (jobs-- > 1) res.writeHead(200, { "content-type": "application/json" }).end(`{"id":"j-${jobs}","input":{}}`);
		});
		const slept: number[] = [];
		const env = movedEnv((await b.worker()).env, front.url);
		const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
			slept.push(ms);
			await systemClock.sleep(ms === 90_000 ? ms : 0, signal);
		};
		const sdk = sdkWorker({ env, version: "1.9.1", handler: () => 1, sleep });
		try {
			await untilTrue(() => script.length === 0 && sdk.held().length === 0);
			expect(slept.filter((ms) => ms === 2000 || ms === 3000)).toEqual([2000, 3000, 2000, 3000]);
			expect(sdk.errors).toEqual([
				"Failed to return job results. | 400",
				"Failed to return job results. | Server disconnected",
				"Failed to return job results. | 502",
			]);
		} finally {
			await sdk.kill();
			front.close();
		}
	});
});

describe("B.5: what handlers lead to", () => {
	async function* words(): AsyncGenerator<string> {
		yield "a";
		yield "b";
	}
	const raise = (message: string): never => {
		throw new TypeError(message);
	};
	const CASES: [string, SdkHandler, { chunks?: unknown[]; status: string; output?: unknown; error?: unknown }][] = [
		["returns a string", () => "text", { status: "COMPLETED", output: "text" }],
		["returns a number", () => 0, { status: "COMPLETED", output: 0 }],
		["returns a boolean", () => false, { status: "COMPLETED", output: false }],
		["returns null", () => null, { status: "COMPLETED", output: null }],
		[
			"returns an object",
			() => ({ image: "…", seeds: [1] }),
			{ status: "COMPLETED", output: { image: "…", seeds: [1] } },
		],
		[
			"is watched by the debugger, whose findings stand in the output",
			() => ({ x: 1, rp_debugger: { time: [0.5] } }),
			{ status: "COMPLETED", output: { x: 1, rp_debugger: { time: [0.5] } } },
		],
		["returns a list", () => [1, null], { status: "COMPLETED", output: [1, null] }],
		["returns {}", () => ({}), { status: "COMPLETED" }],
		[
			"returns an error beside others",
			() => ({ error: "bad", detail: 7 }),
			{ status: "FAILED", output: { detail: 7 }, error: "bad" },
		],
		["returns an error object", () => ({ error: { code: 3 } }), { status: "FAILED", error: '{"code":3}' }],
		[
			"returns a falsy error, which the SDK drops",
			() => ({ error: "", x: 1 }),
			{ status: "COMPLETED", output: { x: 1 } },
		],
		[
			"asks to be refreshed",
			() => ({ refresh_worker: true, result: 1 }),
			{ status: "COMPLETED", output: { result: 1 } },
		],
		[
			"raises",
			() => raise("no such model"),
			{ status: "FAILED", error: expect.stringContaining('"error_message":"no such model"') },
		],
		["returns NaN", () => ({ loss: Number.NaN }), { status: "FAILED", error: expect.stringContaining("is not JSON") }],
		["is a generator", words, { chunks: ["a", "b"], status: "COMPLETED", output: [] }],
		["is a generator that yields nothing", async function* () {}, { chunks: [], status: "COMPLETED", output: [] }],
		[
			"is a generator that raises half way",
			async function* () {
				yield "first";
				raise("broke half way");
			},
			{
				chunks: ["first"],
				status: "FAILED",
				error: expect.stringMatching(/^handler: broke half way \ntraceback: /),
			},
		],
		[
			"is a generator that yields an error",
			async function* () {
				yield { ok: 1 };
				yield { error: { code: 1 } };
				yield "never";
			},
			{ chunks: [{ ok: 1 }], status: "FAILED", error: "{'code':1}" },
		],
	];

	it.each(CASES)("the handler %s", async (_, handler, { chunks, ...wanted }) => {
		await b.sdk({ handler });
		const { id, delayTime: _d, executionTime: _e, workerId: _w, ...rest } = await runsync();
		expect(rest).toEqual(wanted);
		const streamed = (await b.call(`stream/${id}`)).json as { output: unknown }[];
		expect(streamed.map(({ output }) => output)).toEqual(chunks ?? []);
	});

	it("return_aggregate_stream gives chunks and the whole list", async () => {
		const sdk = await b.sdk({ handler: words, aggregate: true });
		expect(await runsync()).toMatchObject({ status: "COMPLETED", output: ["a", "b"] });
		expect(posts(sdk)).toEqual([
			{ path: "job-stream?gpu=none&isStream=false", body: { output: "a" } },
			{ path: "job-stream?gpu=none&isStream=false", body: { output: "b" } },
			{ path: "job-done?gpu=none&isStream=true", body: { output: ["a", "b"] } },
		]);
	});

	it("a raised exception reaches the client as the worker's record of it, with all six members", async () => {
		const sdk = await b.sdk({ handler: () => raise("no such model") });
		const { id, status, error } = await runsync();
		expect(status).toBe("FAILED");
		expect((await b.status(id)).error).toBe(error);
		expect(JSON.parse(error)).toEqual({
			error_type: "<class 'TypeError'>",
			error_message: "no such model",
			error_traceback: expect.stringContaining("raise"),
			hostname: "unknown",
			worker_id: sdk.protocol.id,
			runpod_version: "1.12.0",
		});
		expect(posts(sdk)).toEqual([{ path: "job-done?gpu=none&isStream=false", body: { error } }]);
	});

	it("refresh_worker in its configuration goes with an error too, which counts", async () => {
		const sdk = await b.sdk({ handler: () => ({ error: "worn out" }), refresh: true });
		expect(await runsync()).toMatchObject({ status: "FAILED", error: "worn out" });
		expect(posts(sdk)).toEqual([
			{ path: "job-done?gpu=none&isStream=false", body: { error: "worn out", stopPod: true } },
		]);
	});

	it("progress_update beside the result may overtake or follow it: the result counts", async () => {
		const sdk = await b.sdk({
			handler: (_, { progress }) => {
				for (let step = 0; step < 3; step += 1) void progress(step);
				return "done";
			},
		});
		const { id } = await runsync();
		await untilTrue(
			() => sdk.protocol.sent.filter(({ method }) => method === "POST").length === 4 && sdk.held().length === 0,
		);
		await b.service.engine.ready();
		expect(await b.status(id)).toMatchObject({ status: "COMPLETED", output: "done" });
		expect(sdk.errors).toEqual([]);
	});

	it("progress_update shows while it runs", async () => {
		let finish = (): void => {};
		const sdk = await b.sdk({
			handler: async (_, { progress }) => {
				await progress({ step: 1 });
				return await new Promise((resolve) => (finish = () => resolve("done")));
			},
		});
		const id = await b.submit();
		await untilTrue(() => posts(sdk).length === 1);
		await advanceUntil(b.clock, async () => (await b.status(id)).output !== undefined, 0);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS", output: { step: 1 } });
		const settled = b.next("job.settled");
		finish();
		await b.reached(settled);
		expect(await b.status(id)).toMatchObject({ status: "COMPLETED", output: "done" });
	});

	it.each([
		["a set", new Set([1])],
		["text with lone surrogates", { text: "\ud800" }],
	])(
		"D16: a result that is never posted, %s, is found lost by the worker's next take, and fails after three losses",
		async (_, result) => {
			const sdk = await b.sdk({ handler: () => result });
			const seen = b.service.engine.workers.recordCall(sdk.protocol);
			const id = await b.submit();
			// A take in the very millisecond of the hand-out proves nothing: time must pass between them,
			// and calls must arrive meanwhile.
			while (b.of("job.settled").length === 0) {
				await b.pass(1000);
				await untilTrue(() => seen.polls.size === sdk.protocol.open);
			}
			expect(await b.status(id)).toMatchObject({
				status: "FAILED",
				error: expect.stringContaining("lost 3 times"),
				retries: 2,
			});
			expect(sdk.began).toEqual([id, id, id]);
			expect(posts(sdk)).toEqual([]);
		},
	);
});

describe("B.4: concurrency", () => {
	it("a worker of four gets three jobs in one batch, then a fourth by a single take; pings name all", async () => {
		const finish: (() => void)[] = [];
		const ids = [await b.submit(), await b.submit(), await b.submit()];
		const sdk = await b.sdk({
			concurrency: 4,
			pingEveryMs: 0,
			handler: () => new Promise((resolve) => finish.push(() => resolve("done"))),
		});
		await untilTrue(() => sdk.began.length === 3);
		expect(sdk.began).toEqual(ids);
		const fourth = await b.submit();
		await untilTrue(() => sdk.began.length === 4);
		const takes = sdk.protocol.sent.map(({ path }) => path).filter((path) => path.includes("job-take"));
		expect(takes.map((path) => path.replace(/.*(job-take[-a-z]*)\/[^?]*/, "$1"))).toEqual([
			"job-take-batch?gpu=none&batch_size=4&job_in_progress=0",
			"job-take?gpu=none&job_in_progress=1",
		]);
		for (let n = 0; n < 4; n += 1) {
			await b.clock.advance(15_000);
			expect(await sdk.ping()).toBe(200);
		}
		for (const end of finish) end();
		for (const id of [...ids, fourth]) {
			await advanceUntil(b.clock, async () => (await b.status(id)).status === "COMPLETED", 0);
			expect(await b.status(id)).not.toHaveProperty("retries");
		}
	});

	it("a version below 1.7.1 takes one at a time, whatever its concurrency", async () => {
		const ids = [await b.submit(), await b.submit()];
		const sdk = await b.sdk({
			version: "1.6.2",
			concurrency: 4,
			handler: () => new Promise(() => {}),
		});
		await untilTrue(() => sdk.began.length === 2);
		expect(sdk.began).toEqual(ids);
		expect(sdk.protocol.sent.some(({ path }) => path.includes("batch") || path.includes("job-stop"))).toBe(false);
	});
});
