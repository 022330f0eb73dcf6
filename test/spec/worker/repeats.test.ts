/**
 * What SDK workers post and whose answer is an error or never comes: again where they try
 * again, once lost where they do not (protocol B.6; D7, D16).
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { passOn, sdkFront, type SdkFront } from "../../support/sdk-front.ts";
import type { SdkHandler, SdkWorker } from "../../support/sdk-worker.ts";
import { bench, type Bench, movedEnv, workerEnvOf } from "../../support/sdk-worker-bench.ts";
import { untilTrue } from "../../support/until.ts";

/**
 * What becomes of a post: nothing is kept and this is answered, or it is kept and this is answered
 * instead of 200.
 */
type Fate = { unkept: number | "cut" } | { kept: number };
const PASSES = undefined;

/** Pauses of the SDK between the attempts of a post, ms (B.6). */
const WAITS_MS: readonly number[] = [2000, 3000];

let b: Bench;
let front: SdkFront;
let fates: (Fate | typeof PASSES)[];
let waited: number[];
beforeAll(async () => {
	b = await bench();
	// In front of the service, as a proxy is.
	front = await sdkFront((req, res) => {
		const fate = req.method === "POST" ? fates.shift() : undefined;
		if (!fate || "kept" in fate) return passOn(req, res, { url: b.url, instead: fate?.kept });
		req.resume().on("end", () => (fate.unkept === "cut" ? req.socket.destroy() : res.writeHead(fate.unkept).end()));
	});
});
beforeEach(async () => {
	fates = [];
	waited = [];
	await b.fresh();
});
afterEach(() => expect(fates, "each post was made").toEqual([]));
afterAll(async () => {
	front.close();
	await b.end();
});

/** A worker behind the front. Its pauses between posts take no time and are noted. */
async function behind(handler: SdkHandler): Promise<SdkWorker> {
	const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
		if (!WAITS_MS.includes(ms)) return await b.clock.sleep(ms, signal);
		waited.push(ms);
	};
	return await b.sdk({ env: movedEnv(await workerEnvOf(b.url, b.ep), front.url), handler, sleep });
}

const posts = ({ protocol }: SdkWorker): string[] =>
	protocol.sent
		.filter(({ method }) => method === "POST")
		.map(({ path, body }) => `${/job-\w+/.exec(path)![0]} ${body}`);

describe("B.6 row 5xx: what an SDK worker posts again", () => {
	it("a result that was kept before its 5xx comes again after 2 s and 3 s, and counts once", async () => {
		fates = [{ kept: 502 }, { kept: 503 }];
		const worker = await behind(() => "once");
		const { json } = await b.call("runsync", { body: { input: {} } });
		expect(json).toMatchObject({ status: "COMPLETED", output: "once" });
		await untilTrue(() => worker.held().length === 0);
		expect(posts(worker)).toEqual(Array.from({ length: 3 }, () => 'job-done {"output":"once"}'));
		expect(waited).toEqual(WAITS_MS);
		expect(worker.errors).toEqual([]);
		expect(b.of("job.settled")).toHaveLength(1);
		expect((await b.call("health")).json.jobs).toMatchObject({
			completed: 1,
			inProgress: 0,
			retried: 0,
		});
	});

	it("chunks and results that were not kept come again, each is there once and in order", async () => {
		fates = [{ unkept: 500 }, { unkept: 503 }, PASSES, PASSES, { unkept: 502 }];
		const worker = await behind(async function* () {
			yield "a";
			yield "b";
		});
		const { json } = await b.call("runsync", { body: { input: {} } });
		expect(json).toMatchObject({ status: "COMPLETED", output: [] });
		expect((await b.call(`stream/${json.id}`)).json.map(({ output }: { output: string }) => output)).toEqual([
			"a",
			"b",
		]);
		await untilTrue(() => worker.held().length === 0);
		expect(waited).toEqual([...WAITS_MS, WAITS_MS[0]]);
	});
});

describe("B.6: a post that an SDK worker gives up loses its result; its next take proves that", () => {
	it.each<[string, Fate[], string]>([
		[
			"row 5xx, three times",
			[{ unkept: 500 }, { unkept: 502 }, { unkept: 503 }],
			"Failed to return job results. | 503",
		],
		["row 4xx, once", [{ unkept: 400 }], "Failed to return job results. | 400"],
		["row connection reset, once", [{ unkept: "cut" }], "Failed to return job results. | Server disconnected"],
	])("%s", async (_, lost, error) => {
		fates = [...lost];
		let runs = 0;
		const worker = await behind(() => {
			runs += 1;
			return runs;
		});
		const seen = b.service.engine.workers.recordCall(worker.protocol);
		// The take that follows must be later than the hand-out to prove anything.
		const id = await b.submit();
		while (b.of("job.settled").length === 0) {
			await b.pass(1000);
			await untilTrue(() => seen.polls.size === worker.protocol.open);
		}
		expect(await b.status(id)).toMatchObject({ status: "COMPLETED", output: 2, retries: 1 });
		expect(worker.errors).toEqual([error]);
		expect(posts(worker)).toHaveLength(lost.length + 1);
	});
});
