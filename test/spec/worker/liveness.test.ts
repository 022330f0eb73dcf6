/**
 * A worker whose main process has ended while its pings go on (D16; protocol B.7), and the version of its SDK.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { bench, type Bench } from "../../support/sdk-worker-bench.ts";
import { type SdkProtocol, sdkProtocol } from "../../support/sdk-protocol.ts";
import { call } from "../../support/service.ts";

const PING_MS = 5000;
const HOLD_MS = 50_000;

let b: Bench;
beforeAll(async () => {
	b = await bench();
});
beforeEach(() => b.fresh());
afterAll(() => b?.end());

/**
 * A worker whose stop poll was held for this time and then answered, with a job held and a stop
 * poll open.
 */
async function atWork(outlivedMs: number): Promise<{ worker: SdkProtocol; id: string; hangUp(): Promise<void> }> {
	const worker = await b.worker();
	const { answer } = await b.held(worker, (signal) => worker.stop({ signal }));
	await b.clock.advance(HOLD_MS);
	await b.reached(answer);
	const seen = b.service.engine.workers.recordCall(worker);
	seen.longestPollMs = Math.min(seen.longestPollMs, outlivedMs);
	const id = await b.submit();
	await b.takes(worker, id, { busy: true });
	const { hangUp } = await b.held(worker, (signal) => worker.stop({ signal }));
	return { worker, id, hangUp };
}

/** Pings every interval, each naming the job. */
async function pings(worker: SdkProtocol, id: string, count: number): Promise<void> {
	for (let n = 0; n < count; n += 1) {
		await b.clock.advance(PING_MS);
		await worker.ping([id]);
	}
}

const state = async (worker: SdkProtocol): Promise<string> =>
	(await call(b.url, `/v1/endpoints/${b.ep}/workers`)).json.workers.find(({ id }: { id: string }) => id === worker.id)
		.state;

describe("D16: pings of a dead worker's child", () => {
	it("keep its job for two intervals after its polls were cut, and no longer; then others may have it", async () => {
		const { worker, id, hangUp } = await atWork(HOLD_MS);
		await pings(worker, id, 1);
		await hangUp();
		await pings(worker, id, 1);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
		const returned = b.next("job.returned");
		await pings(worker, id, 1);
		expect(await b.reached(returned)).toMatchObject({ id, worker: worker.id, why: "lost" });
		expect(b.of("worker.unhealthy")).toMatchObject([
			{ worker: worker.id, reason: expect.stringContaining("counts as dead") },
		]);
		expect(await state(worker)).toBe("unhealthy");
		await pings(worker, id, 4);
		expect(b.of("worker.unhealthy")).toHaveLength(1);
		const other = await b.worker();
		await b.takes(other, id);
		expect(await b.status(id)).toMatchObject({
			status: "IN_PROGRESS",
			workerId: other.id,
			retries: 1,
		});
	});

	it("count on when the worker polls again in time", async () => {
		const { worker, id, hangUp } = await atWork(HOLD_MS);
		await hangUp();
		await pings(worker, id, 1);
		const again = await b.held(worker, (signal) => worker.stop({ signal }));
		await pings(worker, id, HOLD_MS / PING_MS);
		expect((await b.reached(again.answer)).status).toBe(204);
		// What it blocks now, it blocks alive.
		await pings(worker, id, 6);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS", workerId: worker.id });
	});

	it("count on while another poll is open", async () => {
		const { worker, id } = await atWork(HOLD_MS);
		const take = await b.held(worker, (signal) => worker.take({ busy: true, signal }));
		await take.hangUp();
		await pings(worker, id, 6);
		expect(b.service.engine.workers.recordCall(worker)).toMatchObject({
			stops: 1,
			leftAt: expect.any(Number),
		});
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS", workerId: worker.id });
	});

	it("count on when polls of this worker never lived so long: a proxy may cut them, or a handler block", async () => {
		const { worker, id, hangUp } = await atWork(PING_MS - 1);
		await pings(worker, id, 1);
		await hangUp();
		await pings(worker, id, 8);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS", workerId: worker.id });
		expect(b.of("worker.unhealthy")).toEqual([]);
	});

	it("count on when the poll was answered, not cut: a handler blocks", async () => {
		const { worker, id } = await atWork(HOLD_MS);
		await pings(worker, id, 20);
		expect(b.service.engine.workers.recordCall(worker).stops).toBe(0);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS", workerId: worker.id });
	});

	it("a worker that asks for a job again is well again", async () => {
		const { worker, id, hangUp } = await atWork(HOLD_MS);
		await hangUp();
		await pings(worker, id, 2);
		expect(await state(worker)).toBe("unhealthy");
		await b.takes(worker, id);
		expect(await state(worker)).toBe("running");
	});
});

it("D16: the version of its SDK is shown", async () => {
	const worker = sdkProtocol((await b.worker()).env as Record<string, string>, { version: "1.12.0" });
	await worker.ping();
	const { workers } = (await call(b.url, `/v1/endpoints/${b.ep}/workers`)).json;
	expect(workers).toEqual([expect.objectContaining({ id: worker.id, version: "1.12.0" })]);
	worker.close();
});
