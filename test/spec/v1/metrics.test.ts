/** `/v1/endpoints/{endpoint}/metrics`: what was counted over time (D39, D40). */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { manualClock } from "../../support/manual-clock.ts";
import { call, folder, startService, type TestService } from "../../support/service.ts";
import { atOnce, endWith, endpointsByName, expectError, handWorker, submitted } from "../hand-worker.ts";
import { keyWith, operator } from "../operator.ts";

/** The beginning of an hour. */
const HOUR0 = 1_800_000_000_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;

const clock = manualClock(HOUR0);
const names = endpointsByName(12);
let service: TestService;
beforeAll(async () => {
	service = await startService({ endpoints: names.settings, clock });
});
afterAll(() => endWith(service, clock));

/** The answer for an endpoint. */
const seen = (endpoint: string, query = "", of = service): Promise<any> =>
	operator(of).seen(`/endpoints/${endpoint}/metrics${query}`);

/** The last values of some lines. */
function last(series: Record<string, any>, ...lines: string[]): unknown[] {
	return lines.map((name) => series[name].at(-1));
}

/** Time goes on to the beginning of the next minute, no faster than the store answers. */
async function nextMinute(): Promise<void> {
	const end = clock.now() - (clock.now() % MINUTE) + MINUTE;
	while (clock.now() < end) {
		await clock.advance(Math.min(1000, end - clock.now()));
		await service.engine.ready();
	}
}

describe("what is counted", () => {
	it("D39: jobs by their ends, returns, waits and runs, in the current minute at once", async () => {
		const ep = names.next();
		const worker = await handWorker(service, ep);
		await nextMinute();
		const ids = [await submitted(service, ep), await submitted(service, ep), await submitted(service, ep)];
		await clock.advance(2000);
		await worker.takeThis(ids[0]!);
		await clock.advance(500);
		await worker.done(ids[0]!, { output: {} });
		await worker.takeThis(ids[1]!);
		await worker.done(ids[1]!, { error: "no" });
		await call(service.url, `/v2/${ep}/cancel/${ids[2]}`, { method: "POST" });
		await call(service.url, `/v2/${ep}/retry/${ids[1]}`, { method: "POST" });
		const { endpoints: totals } = await operator(service).seen("/metrics");
		expect(totals.find(({ id }: { id: string }) => id === ep)).toMatchObject({
			submitted: 3,
			completed: 1,
			failed: 1,
			cancelled: 1,
			delayMs: { p95: expect.any(Number) },
			executionMs: { p50: expect.any(Number) },
			gpuSeconds: 0,
		});
		const { series, step, from } = await seen(ep);
		expect([step, Date.parse(from), series.submitted.length]).toEqual([
			MINUTE,
			Math.floor((clock.now() - 60 * MINUTE) / MINUTE) * MINUTE,
			61,
		]);
		expect(last(series, "submitted", "completed", "failed", "cancelled", "timedOut", "retried", "coldStarts")).toEqual([
			3, 1, 1, 1, 0, 1, 0,
		]);
		expect(Math.abs(series.delayMs.p50.at(-1) - 2000)).toBeLessThan(100);
		expect(Math.abs(series.executionMs.p99.at(-1) - 500)).toBeLessThan(25);
	});

	it("D39: a lapse is counted, by whichever request", async () => {
		const ep = names.next();
		await nextMinute();
		const lapsed = service.next("job.settled", ({ endpoint }) => endpoint === ep);
		await submitted(service, ep, { input: {}, policy: { ttl: 10_000 } });
		await clock.advance(10_000);
		await atOnce(clock, lapsed);
		expect(last((await seen(ep)).series, "submitted", "timedOut", "failed")).toEqual([1, 1, 0]);
	});

	it("D39: of what goes up and down the most of the step is reported", async () => {
		const ep = names.next();
		const worker = await handWorker(service, ep);
		await nextMinute();
		await worker.ping();
		const lines = ["queued", "running", "workersReady", "workersBusy", "workersStarting"];
		/** Time goes on within the minute until a sample has these. */
		const expectCounts = async (values: readonly number[]): Promise<void> => {
			for (
				let second = 0;
				second < 20 && String(last((await seen(ep)).series, ...lines)) !== String(values);
				second += 1
			)
				await clock.advance(1000);
			expect(last((await seen(ep)).series, ...lines)).toEqual(values);
		};
		const ids = [await submitted(service, ep), await submitted(service, ep), await submitted(service, ep)];
		await expectCounts([3, 0, 1, 0, 0]);
		await worker.takeThis(ids[0]!);
		await worker.done(ids[0]!, { output: {} });
		await worker.takeThis(ids[1]!);
		await expectCounts([3, 1, 1, 1, 0]);
		await worker.done(ids[1]!, { output: {} });
		await nextMinute();
		await expectCounts([1, 0, 1, 0, 0]);
	});

	it("D39: minutes without a server are null, quiet ones 0", async () => {
		const quiet = names.next();
		await nextMinute();
		const from = clock.now();
		for (let minute = 0; minute < 3; minute += 1) await nextMinute();
		expect((await seen(quiet, `?from=${from}`)).series.completed).toEqual([0, 0, 0]);
		const { series } = await seen(quiet, `?from=${HOUR0 - 5 * MINUTE}&to=${HOUR0}`);
		expect(series.completed).toEqual([null, null, null, null, null]);
		expect(series.delayMs.p95.every((value: number | null) => value === null)).toBe(true);
	});
});

describe("what is asked", () => {
	it("D39: from, to and step: only what is kept, nothing of the future", async () => {
		const ep = names.next();
		await clock.advance(1);
		const now = clock.now();
		const iso = (ms: number): string => new Date(ms).toISOString();
		const hours = await seen(ep, `?from=${iso(now - 40 * 86_400_000)}&to=${iso(now + HOUR)}`);
		expect([hours.step, hours.series.submitted.length]).toEqual([HOUR, 721]);
		const minutes = await seen(ep, `?step=${MINUTE}&from=${now - 40 * 86_400_000}`);
		expect([minutes.series.submitted.length, Date.parse(minutes.from)]).toEqual([
			1441,
			Math.floor((now - 86_400_000) / MINUTE) * MINUTE,
		]);
		expect((await seen(ep, `?from=${HOUR0}&to=${HOUR0 + 2 * MINUTE}`)).series.submitted).toHaveLength(2);
	});

	it("D39: what cannot be read is 400, a foreign endpoint 401, an unknown one 404", async () => {
		const ep = names.next();
		const get = (query: string) => operator(service).get(`/endpoints/${ep}/metrics${query}`);
		expectError(await get("?step=1000"), 400, "bad_query", ["step"]);
		expectError(await get("?from=yesterday"), 400, "bad_query", ["from"]);
		expectError(await get(`?from=${clock.now() + 1}`), 400, "bad_query", ["from"]);
		expectError(await operator(service).get("/endpoints/nowhere/metrics"), 404, "endpoint_not_found");
		const { key } = await keyWith(service, ["read"], ["elsewhere"]);
		expectError(await operator(service, key).get(`/endpoints/${ep}/metrics`), 401, "unauthorized");
	});
});

it("D39: a stop loses nothing, the next start goes on in the same minute, and hours add up", async () => {
	const place = folder();
	const time = manualClock(HOUR0 + 50 * MINUTE);
	const start = (): Promise<TestService> => startService({ endpoints: { ep: {} }, clock: time, in: place });
	let here = await start();
	await submitted(here, "ep");
	await atOnce(time, here.end());
	here = await start();
	for (let minute = 0; minute < 3; minute += 1) {
		await submitted(here, "ep");
		await time.advance(MINUTE);
	}
	expect((await seen("ep", `?step=${HOUR}`, here)).series.submitted.at(-1)).toBe(4);
	await atOnce(time, here.end());
	here = await start();
	try {
		const minutes = await seen("ep", `?from=${HOUR0 + 50 * MINUTE}`, here);
		expect(minutes.series.submitted.slice(0, 4)).toEqual([2, 1, 1]);
		await time.advance(10 * MINUTE);
		const hours = async (): Promise<any> => (await seen("ep", `?step=${HOUR}&from=${HOUR0}`, here)).series;
		expect((await hours()).queued).toEqual([4, 4]);
		await submitted(here, "ep");
		expect((await hours()).submitted).toEqual([4, 1]);
	} finally {
		await atOnce(time, here.end());
		place.remove();
	}
});
