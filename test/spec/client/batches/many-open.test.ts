/** What many open batches cost (D57): rows of those that run are not read repeatedly. */
import { afterEach, expect, it } from "vitest";
import type { BatchRow } from "../../../../src/kernel/store/contract/batches.ts";
import { advanceUntil, manualClock, type ManualClock } from "../../../support/manual-clock.ts";
import { startService, type TestService } from "../../../support/service.ts";
import { endWith } from "../../hand-worker.ts";
import { clientOf } from "../files/files-client.ts";
import { created, line } from "./batch-client.ts";

let clock: ManualClock;
let service: TestService;
afterEach(() => endWith(service, clock));

async function begin(endpoints: readonly string[]): Promise<void> {
	clock = manualClock();
	service = await startService({ endpoints: Object.fromEntries(endpoints.map((id) => [id, {}])), clock });
}

/** Creates so many batches of one request at each endpoint; those that may run have submitted it. */
async function open(endpoints: readonly string[], each: number): Promise<string[]> {
	const ids: string[] = [];
	for (const endpoint of endpoints)
		for (let n = 0; n < each; n += 1) ids.push((await created(clientOf(service, endpoint), [line("a")])).id);
	const { store } = service.engine.kernel;
	const queued = async (): Promise<number> => {
		const counts = endpoints.map((endpoint) => store.jobs.counts({ endpoint, now: clock.now() }));
		return (await Promise.all(counts)).reduce((sum, { inQueue }) => sum + inQueue, 0);
	};
	await advanceUntil(clock, async () => (await queued()) === endpoints.length * Math.min(each, 8), 1000);
	await clock.advance(5000);
	return ids;
}

/** Counts from now on what the service reads of batches. */
function reads(): { lists: number; bytes: number; rows: number } {
	const { batches } = service.engine.kernel.store;
	const { open: list, find } = batches;
	const sum = { lists: 0, bytes: 0, rows: 0 };
	batches.open = async (q) => {
		const found = await list(q);
		sum.lists += 1;
		sum.bytes += JSON.stringify(found).length;
		return found;
	};
	batches.find = async (q): Promise<BatchRow | undefined> => {
		sum.rows += 1;
		return await find(q);
	};
	return sum;
}

it("D57: no progress of batches is read while they run, or wait for their turn", async () => {
	const endpoints = ["a", "b", "c"];
	await begin(endpoints);
	const ids = await open(endpoints, 10);
	const sum = reads();
	await clock.advance(60_000);
	expect(sum.rows).toBe(0);
	expect(sum.lists).toBeGreaterThan(20);
	expect(sum.bytes / sum.lists / ids.length).toBeLessThan(120);
});

it("D57: a batch that waits for its turn starts when another has ended, and ends when it is cancelled", async () => {
	await begin(["a"]);
	const ids = await open(["a"], 10);
	const client = clientOf(service, "a");
	const status = async (at: number): Promise<string> => (await client.batches.retrieve(ids.at(at)!)).status;
	expect([await status(7), await status(8)]).toEqual(["in_progress", "validating"]);
	await client.batches.cancel(ids.at(-1)!);
	await advanceUntil(clock, async () => (await status(-1)) === "cancelled", 1000);
	expect(await status(8)).toBe("validating");
	await client.batches.cancel(ids[0]!);
	await advanceUntil(clock, async () => (await status(0)) === "cancelled", 1000);
	await advanceUntil(clock, async () => (await status(8)) === "in_progress", 1000);
});
