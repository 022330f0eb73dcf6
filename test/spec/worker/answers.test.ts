/**
 * The fake SDK worker itself, row by row: what it does with each answer to job-take and job-stop
 * (protocol B.3, B.8). The other tests of workers count on that.
 */
import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { sdkFront, type SdkFront } from "../../support/sdk-front.ts";
import { sdkWorker, type SdkWorker, type SdkWorkerOptions } from "../../support/sdk-worker.ts";
import { untilTrue } from "../../support/until.ts";

/** Status, content type and body of an answer; `cut`: the connection goes instead. */
type Scripted = [status: number, type?: string, text?: string] | "cut";

const CUT_MS = 90_000;

const ends: (() => unknown)[] = [];
afterEach(async () => {
	for (const end of ends.splice(0).toReversed()) await end();
});

/**
 * Answers the takes, batches and stops of one worker from scripts; what comes after their ends is
 * held. Pauses take no time and are noted.
 */
async function scripted(
	q: {
		takes?: Scripted[];
		stops?: (Scripted | Promise<Scripted>)[];
		cuts?: number;
	} & Partial<SdkWorkerOptions>,
): Promise<{
	worker: SdkWorker;
	ran: unknown[];
	pauses: number[];
	takes: () => number;
	stops: () => number;
}> {
	const { takes = [], stops = [], ...options } = q;
	const polls = [...takes];
	const scripts: Record<string, (Scripted | Promise<Scripted>)[]> = {
		"job-take": polls,
		"job-take-batch": polls,
		"job-stop": [...stops],
	};
	const answer = (res: ServerResponse, next: Scripted): void => {
		if (next === "cut") return void res.socket!.destroy();
		const [status, type, text = ""] = next;
		res.writeHead(status, type === undefined ? {} : { "content-type": type }).end(text);
	};
	const front: SdkFront = await sdkFront((req, res) => {
		const operation = /\/(job-[-a-z]+)\//.exec(req.url!)?.[1];
		const next = scripts[operation ?? ""]?.shift();
		if (next !== undefined) void Promise.resolve(next).then((header) => answer(res, header));
		else if (req.method === "POST") res.writeHead(200).end();
	});
	const ran: unknown[] = [];
	const pauses: number[] = [];
	let cuts = q.cuts ?? 0;
	const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
		if (ms !== CUT_MS) pauses.push(ms);
		// Others get their turn even between pauses without end.
		if (ms !== CUT_MS || cuts-- > 0) return await new Promise((resolve) => setImmediate(resolve));
		await new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));
	};
	const env = {
		RUNPOD_POD_ID: "w-1",
		RUNPOD_AI_API_KEY: "key",
		RUNPOD_ENDPOINT_ID: "ep",
		RUNPOD_WEBHOOK_GET_JOB: `${front.url}/worker/ep/job-take/$ID?gpu=none`,
		RUNPOD_WEBHOOK_POST_OUTPUT: `${front.url}/worker/ep/job-done/$RUNPOD_POD_ID/$ID?gpu=none`,
	};
	const worker = sdkWorker({
		env,
		sleep,
		version: stops.length > 0 ? "1.12.0" : "1.9.1",
		handler: (job) => (ran.push(job), 1),
		...options,
	});
	ends.push(
		() => front.close(),
		() => worker.kill(),
	);
	const asked = (operation: string) => (): number =>
		worker.protocol.sent.filter(({ path }) => path.includes(`/${operation}`)).length;
	return { worker, ran, pauses, takes: asked("job-take"), stops: asked("job-stop/") };
}

const JSON_TYPE = "application/json";
const job = (id: string): object => ({ id, input: { n: 1 } });

describe("B.3: the fake SDK worker and each answer to job-take", () => {
	const MISSING = "Job has missing field(s): id or input.";
	const failed = (status: number): string => `Failed to get job, status code: ${status}`;
	const ROWS: [
		string,
		Scripted,
		{ ran?: object[]; errors?: string[]; pauses?: number[]; options?: Partial<SdkWorkerOptions> },
	][] = [
		["row 200, an object: one job", [200, JSON_TYPE, JSON.stringify(job("a"))], { ran: [job("a")] }],
		[
			"row 200, parameters of the type: one job",
			[200, `${JSON_TYPE}; charset=utf-8`, JSON.stringify(job("a"))],
			{ ran: [job("a")] },
		],
		[
			"row 200, an input that is null: one job",
			[200, JSON_TYPE, '{"id":"a","input":null}'],
			{ ran: [{ id: "a", input: null }] },
		],
		[
			"row 200, other members: the handler gets the very object",
			[200, JSON_TYPE, '{"id":"a","input":{},"s3Config":{"x":1},"batchId":"b"}'],
			{ ran: [{ id: "a", input: {}, s3Config: { x: 1 }, batchId: "b" }] },
		],
		["row 200, no input: logged, and dropped unseen", [200, JSON_TYPE, '{"id":"a"}'], { errors: [MISSING] }],
		["row 200, no id: logged, and dropped unseen", [200, JSON_TYPE, '{"input":{}}'], { errors: [MISSING] }],
		[
			"row array: each is a job, also of a single take, and inputs are not looked for",
			[200, JSON_TYPE, JSON.stringify([job("a"), { id: "b" }])],
			{ ran: [job("a"), { id: "b" }] },
		],
		[
			"row array, an object of a batch take: one job",
			[200, JSON_TYPE, JSON.stringify(job("a"))],
			{ ran: [job("a")], options: { concurrency: 3 } },
		],
		["row nothing, an empty array: again at once", [200, JSON_TYPE, "[]"], {}],
		["row nothing, length 0: again at once", [200, JSON_TYPE, ""], {}],
		["row nothing, another type: again at once", [200, "text/plain", JSON.stringify(job("a"))], {}],
		["row nothing, bad JSON: again at once", [200, JSON_TYPE, '{"id":'], {}],
		["row 204: again at once", [204], {}],
		["row 400: again at once", [400, JSON_TYPE, "{}"], {}],
		["row 429: again after 5 s", [429, JSON_TYPE, "{}"], { pauses: [5000] }],
		["row 429, before 1.7.3: again at once", [429, JSON_TYPE, "{}"], { options: { version: "1.7.2" } }],
		...[401, 403, 404, 500, 503].map((status): [string, Scripted, object] => [
			`row ${status}: logged, again at once`,
			[status, JSON_TYPE, "{}"],
			{ errors: [failed(status)] },
		]),
		[
			"row refused connection: logged, again at once",
			"cut",
			{ errors: [expect.stringMatching(/^Failed to get job\. \| /)] },
		],
	];

	it.each(ROWS)("%s", async (_, answer, { ran = [], errors = [], pauses = [], options = {} }) => {
		// A real job behind it shows that the worker goes on.
		const s = await scripted({
			takes: [answer, [200, JSON_TYPE, JSON.stringify(job("last"))]],
			...options,
		});
		await untilTrue(() => s.ran.length > ran.length);
		expect(s.ran).toEqual([...ran, job("last")]);
		expect(s.worker.errors).toEqual(errors);
		expect(s.pauses.filter((ms) => ms !== 1000)).toEqual(pauses);
	});

	it("no answer for 90 s: cuts the call and asks again", async () => {
		const s = await scripted({ cuts: 2 });
		await untilTrue(() => s.takes() === 3);
		expect(s.pauses).toEqual([]);
	});
});

describe("B.8: the fake SDK worker and each answer to job-stop", () => {
	const ROWS: [string, Scripted, { pauses: number[]; errors?: string[] }][] = [
		["row 204: again after 1 s", [204], { pauses: [1000] }],
		["row 200, an empty list: again after 1 s", [200, JSON_TYPE, '{"jobsToStop": []}'], { pauses: [1000] }],
		["row 429: again after 5 s", [429, JSON_TYPE, "{}"], { pauses: [5000] }],
		[
			"row 404: logged, again after 1 s",
			[404, JSON_TYPE, "{}"],
			{ pauses: [1000], errors: ["Failed to get stops, status code: 404"] },
		],
		[
			"row 500: logged, again after 1 s",
			[500, JSON_TYPE, "{}"],
			{ pauses: [1000], errors: ["Failed to get stops, status code: 500"] },
		],
	];

	it.each(ROWS)("%s", async (_, answer, { pauses, errors = [] }) => {
		const s = await scripted({ stops: [answer] });
		await untilTrue(() => s.stops() === 2);
		expect(s.pauses).toEqual(pauses);
		expect(s.worker.errors).toEqual(errors);
	});

	it("row 200: each named job is cancelled, ids that are no strings are ignored, others go on", async () => {
		const stop = Promise.withResolvers<Scripted>();
		const s = await scripted({
			takes: [[200, JSON_TYPE, JSON.stringify([job("1"), job("2"), job("3"), job("4")])]],
			stops: [stop.promise],
			concurrency: 4,
			handler: () => new Promise(() => {}),
		});
		await untilTrue(() => s.worker.began.length === 4);
		stop.resolve([200, JSON_TYPE, '{"jobsToStop": ["1", 2, null, "3", "unknown"]}']);
		await untilTrue(() => s.worker.held().length === 2);
		expect(s.worker.held()).toEqual(["2", "4"]);
		// What was to stop is sent once: it asks again at once.
		await untilTrue(() => s.stops() === 2);
		expect(s.pauses.filter((ms) => ms !== 1000)).toEqual([]);
	});
});
