/** Payload files that are missing for a while: what needs them waits, and all else goes on (D17). SQLite only. */
import { readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { advanceUntil } from "../../support/manual-clock.ts";
import { bench, type Bench, idsOf } from "../../support/sdk-worker-bench.ts";
import { call, folder } from "../../support/service.ts";
import { ON_POSTGRES } from "../../support/service-store.ts";

const LARGE = "x".repeat(100_000);

/** Jobs with these texts, whose inputs the service has not in memory. `lose` moves the payload files elsewhere. */
async function reopened(texts: readonly string[]): Promise<{ b: Bench; ids: string[]; lose(): () => void }> {
	const place = folder();
	onTestFinished(() => place.remove());
	const before = await bench({ in: place });
	const ids: string[] = [];
	for (const text of texts) ids.push(await before.submit({ input: { text } }));
	let stopped = false;
	void before.end().then(() => (stopped = true));
	await advanceUntil(before.clock, () => stopped, 1);
	const b = await bench({ in: place, startAt: before.clock.now() + 1000 });
	onTestFinished(() => b.end());
	const name = readdirSync(place.path, { recursive: true, encoding: "utf8" }).find((each) =>
		each.endsWith(".payloads"),
	)!;
	const [at, lost] = [join(place.path, name), join(place.path, "lost")];
	return {
		b,
		ids,
		lose() {
			renameSync(at, lost);
			return () => renameSync(lost, at);
		},
	};
}

const named = (b: Bench): number => b.of("fault").filter(({ error }) => String(error).includes(".payloads/")).length;

describe.skipIf(ON_POSTGRES)("missing payload files", () => {
	it("D17: the other jobs of a claim run, and one whose file is missing waits for it without a loss", async () => {
		const { b, ids, lose } = await reopened([LARGE, "first", "second"]);
		const [large, first, second] = ids as [string, string, string];
		const putBack = lose();
		const worker = await b.worker();
		expect(idsOf(await b.reached(worker.takeBatch({ size: 10 })))).toEqual([first, second]);
		for (const id of [first, second]) await worker.done(id, { output: {} });
		let taken: string[] = [];
		const polls = (async () => {
			while (taken.length === 0) taken = idsOf(await worker.take());
		})();
		// Three leases: as often as a job may be lost.
		await b.pass(70_000);
		expect(await b.status(large)).toMatchObject({ status: "IN_QUEUE" });
		expect(named(b)).toBe(1);
		putBack();
		await advanceUntil(b.clock, () => taken.length > 0, 1000);
		await polls;
		expect(taken).toEqual([large]);
		expect(b.of("job.returned")).toEqual([]);
		expect(b.of("job.settled").map(({ id }) => id)).toEqual([first, second]);
	});

	it("D17: a worker that takes single jobs gets one that waits behind those whose file is missing", async () => {
		const { b, ids, lose } = await reopened([LARGE, LARGE, "first"]);
		lose();
		await b.takes(await b.worker(), ids[2]!);
		expect(await b.status(ids[0]!)).toMatchObject({ status: "IN_QUEUE" });
		const { json } = await call(b.url, `/v1/endpoints/${b.ep}/jobs/${ids[0]}`);
		expect(json).toMatchObject({
			code: "store_unavailable",
			error: expect.stringContaining(".payloads/1 cannot be read"),
		});
	});

	it("D17: a missing file is named once in the log, and again after it was back", async () => {
		const { b, ids, lose } = await reopened([LARGE]);
		const details = async () => (await call(b.url, `/v1/endpoints/${b.ep}/jobs/${ids[0]}`)).status;
		for (const times of [1, 2]) {
			const putBack = lose();
			for (let n = 0; n < 3; n += 1) expect(await details()).toBe(503);
			expect(named(b)).toBe(times);
			putBack();
			expect(await details()).toBe(200);
		}
	});

	it("D17: large submissions that are refused meanwhile extend no lease", async () => {
		const { b, ids, lose } = await reopened(["small", LARGE]);
		const dead = await b.worker();
		await b.takes(dead, ids[0]!);
		const putBack = lose();
		for (let n = 0; n < 40; n += 1) {
			const refused = await b.call("run", { body: { input: { text: LARGE } } });
			expect(refused.status).toBe(503);
			await b.pass(3000);
		}
		expect(b.of("job.returned")).toMatchObject([{ id: ids[0] }]);
		expect(b.of("store.away")).toEqual([]);
		expect(named(b)).toBe(1);
		putBack();
		expect((await b.call("run", { body: { input: { text: LARGE } } })).status).toBe(200);
	});
});
