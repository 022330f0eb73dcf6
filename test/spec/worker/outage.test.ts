/**
 * The service was down and workers kept on: nothing runs twice because of it, and nothing is lost
 * (D16 Outages, D15, D17, D18, D34).
 */
import { advanceUntil } from "../../support/manual-clock.ts";
import { afterEach, describe, expect, it } from "vitest";
import type { SdkProtocol } from "../../support/sdk-protocol.ts";
import { bench, type Bench, crashImage, idsOf, stopsOf } from "../../support/sdk-worker-bench.ts";
import type { Folder } from "../../support/service.ts";

const LEASE_MS = 20_000;
const PING_MS = 5000;
const AWAY_MS = 60_000;

const endings: (() => Promise<void> | void)[] = [];
afterEach(async () => {
	for (const end of endings.splice(0).toReversed()) await end();
});

async function started(q: Parameters<typeof bench>[0] = {}): Promise<Bench> {
	const b = await bench(q);
	endings.push(() => b.end());
	return b;
}

/**
 * The service died at this moment without a word, and another one starts on what it left, later.
 */
async function afterCrash(b: Bench, ms = AWAY_MS): Promise<Bench> {
	const image: Folder = await crashImage(b);
	endings.push(() => image.remove());
	return await started({ in: image, startAt: b.clock.now() + ms });
}

/** A service with a job that a worker runs. */
async function working(body: object = { input: {} }): Promise<{ before: Bench; worker: SdkProtocol; id: string }> {
	const before = await started();
	const worker = await before.worker();
	await worker.ping();
	const id = await before.submit(body);
	await before.takes(worker, id);
	await before.clock.advance(PING_MS);
	await worker.ping([id]);
	return { before, worker, id };
}

describe("D16: after a crash and a restart much later than the lease", () => {
	it("a worker that kept on and reports now is heard: nothing ran twice", async () => {
		const { before, worker, id } = await working();
		const b = await afterCrash(before);
		const other = await b.worker();
		const { answer } = await b.held(other, (signal) => other.take({ signal }));
		await b.clock.advance(LEASE_MS - 1);
		expect((await b.again(worker).done(id, { output: "kept on" })).status).toBe(200);
		const ended = await b.status(id);
		expect(ended).toMatchObject({ status: "COMPLETED", output: "kept on", workerId: worker.id });
		expect(ended).not.toHaveProperty("retries");
		expect(b.of("job.started")).toEqual([]);
		await b.clock.advance(50_000);
		expect((await b.reached(answer)).status).toBe(204);
	});

	it("its pings keep the lease as before", async () => {
		const { before, worker, id } = await working();
		const b = await afterCrash(before);
		for (let n = 0; n < 4; n += 1) {
			await b.clock.advance(LEASE_MS - 1);
			await b.again(worker).ping([id]);
		}
		expect(await b.status(id)).toMatchObject({
			status: "IN_PROGRESS",
			executionTime: PING_MS + AWAY_MS + 4 * (LEASE_MS - 1),
		});
	});

	it("without any word it is lost one full lease after the start, not sooner", async () => {
		const { before, id } = await working();
		const b = await afterCrash(before);
		await b.clock.advance(LEASE_MS - 1);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
		await b.clock.advance(1);
		expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE", retries: 1 });
	});

	it("a chunk goes on where the stream was", async () => {
		const { before, worker, id } = await working();
		await worker.chunk(id, { output: "a" });
		const b = await afterCrash(before);
		const same = b.again(worker);
		await same.chunk(id, { output: "b" });
		await same.done(id, { output: [] }, { stream: true });
		expect((await b.call(`stream/${id}`)).json.map(({ output }: { output: string }) => output)).toEqual(["a", "b"]);
	});

	it("a result whose post was refused meanwhile: pings without the job let its lease end", async () => {
		const { before, worker, id } = await working();
		const image = await crashImage(before);
		const at = before.clock.now();
		endings.push(() => image.remove());
		await before.end();
		endings.splice(0, 1);
		await expect(worker.done(id, { output: "refused" })).rejects.toThrow("ECONNREFUSED");
		const b = await started({ in: image, startAt: at + AWAY_MS });
		const same = b.again(worker);
		for (let ms = 0; ms < LEASE_MS; ms += PING_MS) {
			await same.ping();
			expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
			await b.clock.advance(PING_MS);
		}
		expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE", retries: 1 });
		await b.takes(same, id);
		await same.done(id, { output: "again" });
		expect(await b.status(id)).toMatchObject({ status: "COMPLETED", output: "again", retries: 1 });
	});

	it("the same with its take, which says that nothing is in progress, and gets the job then", async () => {
		const { before, worker, id } = await working();
		const b = await afterCrash(before);
		const same = b.again(worker);
		await same.ping();
		const { answer } = await b.held(same, (signal) => same.take({ signal }));
		await b.pass(LEASE_MS - 1);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
		await b.pass(PING_MS);
		expect(idsOf(await b.reached(answer))).toEqual([id]);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS", retries: 1 });
	});

	it("a ping missed before does not count with one missed after", async () => {
		const { before, worker, id } = await working();
		await before.clock.advance(PING_MS);
		await worker.ping();
		const b = await afterCrash(before);
		await b.again(worker).ping();
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
	});

	it("the fence holds: a worker whose attempt was lost before does not get the job until that is over", async () => {
		const { before, worker, id } = await working();
		// A report of a job with chunks that comes late does not count.
		await worker.chunk(id, { output: "a" });
		await before.pass(LEASE_MS);
		const b = await afterCrash(before);
		const same = b.again(worker);
		const { answer } = await b.held(same, (signal) => same.take({ busy: true, signal }));
		await b.pass(6000);
		expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE", retries: 1 });
		await same.done(id, { output: "old" });
		expect(idsOf(await b.reached(answer))).toEqual([id]);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
	});

	it("the fence opens with the first take that says nothing is in progress there", async () => {
		const { before, worker, id } = await working();
		await before.pass(LEASE_MS);
		const b = await afterCrash(before);
		await b.takes(b.again(worker), id);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS", retries: 1 });
	});

	it("D15: an executionTimeout that passed meanwhile holds at its moment, and the run is stopped", async () => {
		const { before, worker, id } = await working({
			input: {},
			policy: { executionTimeout: 30_000 },
		});
		const b = await afterCrash(before);
		expect(await b.status(id)).toMatchObject({ status: "TIMED_OUT", executionTime: 30_000 });
		const { answer } = { answer: b.again(worker).stop() };
		expect(stopsOf(await b.reached(answer))).toEqual([id]);
	});

	it("D18, D26: a stop that no poll had fetched is still sent", async () => {
		const { before, worker, id } = await working();
		await before.call(`cancel/${id}`, { method: "POST" });
		const b = await afterCrash(before);
		const same = b.again(worker);
		expect(stopsOf(await b.reached(same.stop()))).toEqual([id]);
		await same.ping([id]);
		await b.clock.advance(1000);
		expect(stopsOf(await b.reached(same.stop()))).toEqual([id]);
	});
});

describe("D16: the clock jumped, or the machine was suspended", () => {
	it.each([
		["a ping that names the job", async (_: Bench, worker: SdkProtocol, id: string) => void (await worker.ping([id]))],
		["a read by a client", async (b: Bench, _: SdkProtocol, id: string) => void (await b.status(id))],
		[
			"a take of another worker",
			async (b: Bench) => {
				const other = await b.worker();
				await b.held(other, (signal) => other.take({ signal }));
			},
		],
		["nothing but the service's own loops", async (b: Bench) => b.pass(1000)],
	])("leases are extended before anything else; first comes %s", async (_, first) => {
		const { before: b, worker, id } = await working();
		b.jump(AWAY_MS);
		await first(b, worker, id);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
		expect(b.of("service.away")).toMatchObject([{ ms: expect.any(Number) }]);
		await b.pass(LEASE_MS - 2000);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
		await b.pass(2000);
		expect(await b.status(id)).toMatchObject({ retries: 1 });
	});
});

describe("D16: a pause shorter than the shortest lease", () => {
	const SHORTEST = { leaseMs: 2000, pingMs: 1000 };

	it.each([1001, 1400, 1999])("of %s ms that keeps a worker's ping from us costs it nothing", async (pause) => {
		const b = await started();
		await b.fresh({ leaseMs: SHORTEST.leaseMs });
		const worker = await b.worker();
		await worker.ping();
		const id = await b.submit();
		await b.takes(worker, id);
		await b.clock.advance(SHORTEST.pingMs);
		await worker.ping([id]);
		await b.pass(SHORTEST.pingMs - 1);
		b.jump(pause);
		// Any request may be the first: here a client's read, before the ping that waited.
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
		await worker.ping([id]);
		await b.pass(SHORTEST.leaseMs - 1);
		expect(await b.status(id)).toMatchObject({ status: "IN_PROGRESS" });
		expect(await b.status(id)).not.toHaveProperty("retries");
	});
});

describe("D16: a planned stop without drain, and a start much later", () => {
	it("an external worker that kept on is heard afterwards: nothing ran twice", async () => {
		const { before, worker, id } = await working();
		const waiting = await before.submit();
		let stopped = false;
		void before.service.stop().then(() => (stopped = true));
		await advanceUntil(before.clock, () => stopped, 1);
		const b = await started({ in: before.service.folder, startAt: before.clock.now() + AWAY_MS });
		const other = await b.worker();
		await b.takes(other, waiting);
		const same = b.again(worker);
		await same.ping([id]);
		expect((await same.done(id, { output: "kept on" })).status).toBe(200);
		const ended = await b.status(id);
		expect(ended).toMatchObject({ status: "COMPLETED", output: "kept on", workerId: worker.id });
		expect(ended).not.toHaveProperty("retries");
		expect(b.of("job.started").map(({ id: started }) => started)).toEqual([waiting]);
	});
});
