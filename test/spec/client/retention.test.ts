/** Section 3, rule 3: `/status?ttl=` shortens the time a result is kept (D9). */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { manualClock } from "../../support/manual-clock.ts";
import { call, startService, type TestService } from "../../support/service.ts";
import {
	atOnce,
	begun,
	endpointsByName,
	endWith,
	expectError,
	handWorker,
	type HandWorker,
	statusOf,
	submitted,
} from "../hand-worker.ts";

const clock = manualClock();
const unused = endpointsByName(20);
let service: TestService;
let ep: string;
let worker: HandWorker;

beforeAll(async () => {
	service = await startService({ endpoints: unused.settings, clock });
});
beforeEach(async () => {
	ep = unused.next();
	worker = await handWorker(service, ep);
});
afterAll(() => endWith(service, clock));

const status = (id: string, ttl?: string, method = "GET"): ReturnType<typeof call> =>
	call(service.url, `/v2/${ep}/status/${id}${ttl === undefined ? "" : `?ttl=${ttl}`}`, { method });

async function done(): Promise<string> {
	const id = await submitted(service, ep);
	await worker.takeThis(id);
	await worker.done(id, { output: "kept" });
	return id;
}

describe("?ttl=", () => {
	it("spec 3.3, D9: the result expires so long after the end of the job, not after the request", async () => {
		const id = await done();
		await clock.advance(3000);
		expect((await status(id, "10000")).json).toMatchObject({ status: "COMPLETED", output: "kept" });
		await clock.advance(6999);
		expect((await status(id)).json).toMatchObject({ output: "kept" });
		await clock.advance(1);
		expectError(await status(id), 404, "job_not_found");
	});

	it("spec 3.3: it can be asked before the end, and POST serves as well", async () => {
		const id = await submitted(service, ep);
		expect((await status(id, "2000", "POST")).json).toMatchObject({ status: "IN_QUEUE" });
		await clock.advance(60_000);
		await worker.takeThis(id);
		await worker.done(id, { output: "kept" });
		await clock.advance(1999);
		expect((await status(id)).json).toMatchObject({ output: "kept" });
		await clock.advance(1);
		expectError(await status(id), 404, "job_not_found");
	});

	it("D9: when that moment has passed, the answer is the last one", async () => {
		const id = await done();
		await clock.advance(5000);
		expect((await status(id, "5000")).json).toMatchObject({ status: "COMPLETED", output: "kept" });
		expectError(await status(id), 404, "job_not_found");
		const zero = await done();
		expect((await status(zero, "0")).json).toMatchObject({ output: "kept" });
		expectError(await status(zero, "0"), 404, "job_not_found");
	});

	it("D9: it only shortens: neither the default nor an earlier ttl is exceeded", async () => {
		const id = await done();
		await status(id, "999999999999");
		await status(id, "10000");
		await status(id, "20000");
		await clock.advance(9999);
		expect((await status(id)).status).toBe(200);
		await clock.advance(1);
		expectError(await status(id), 404, "job_not_found");
		const other = await done();
		await status(other, "1800001");
		await clock.advance(1_800_000);
		expectError(await status(other), 404, "job_not_found");
	});

	it("D9, spec 3.2: a job expired by it cannot be retried", async () => {
		const id = await submitted(service, ep);
		await worker.takeThis(id);
		await worker.done(id, { error: "broke" });
		expect((await status(id, "0")).json).toMatchObject({ status: "FAILED", error: "broke" });
		expectError(await call(service.url, `/v2/${ep}/retry/${id}`, { method: "POST" }), 404, "job_not_found");
	});

	it("D9: a caller that waits for the end of a job whose result is not to be kept hears of the end", async () => {
		const id = await submitted(service, ep, { input: {}, policy: { ttl: 10_000 } });
		await status(id, "0");
		const wait = await begun(service.url, `/v2/${ep}/status-sync/${id}?wait=60000`);
		await clock.advance(10_000);
		expect((await atOnce(clock, wait.answer)).json).toMatchObject({
			id,
			status: "TIMED_OUT",
			delayTime: 10_000,
		});
		expectError(await status(id), 404, "job_not_found");
	});

	it.each(["", "-1", "1.5", "soon", "1e3", "9007199254740992"])(
		"D9: ttl=%j is 400 and changes nothing",
		async (ttl) => {
			const id = await done();
			expectError(await status(id, ttl), 400, "bad_query", ["ttl"]);
			expect(await statusOf(service, ep, id)).toMatchObject({ output: "kept" });
		},
	);

	it("D9: an unknown job is 404", async () => {
		expectError(await status("019a0000-0000-7000-8000-000000000000", "5"), 404, "job_not_found");
	});
});
