/** Each condition holds at its fault and not near to it (D53). */
import { expect, it } from "vitest";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { type AlertName, ruleOf } from "./rules.ts";
import { BUDGETS, type BudgetName } from "../../kernel/core/budgets.ts";
import { newHistogram, observe } from "../../kernel/lib/histogram.ts";
import { record } from "../../kernel/lib/record.ts";
import { StoreUnavailable } from "../../kernel/store/contract/store.ts";
import { type Measured, type Measurement, serverConditions, serviceConditions } from "./conditions.ts";

function bed() {
	const clock = manualClock();
	const commitMs = newHistogram();
	const budgets = record(Object.keys(BUDGETS) as BudgetName[], () => ({ limit: 100, used: 0, spent: 0 }));
	const gpu = { starting: 0, busy: 0 };
	const now = {
		up: true,
		writable: true,
		free: 400,
		skew: 900,
		health: { state: "healthy", reason: undefined as { code: string } | undefined },
		paused: false,
		jobs: { completed: 1000, failed: 500 },
		wait: 0,
		pending: 0,
		givenUp: 0,
		standbys: { connected: 2, isSynchronous: true },
	};
	const available = async <T>(value: T): Promise<T> => {
		if (now.up) return value;
		throw new StoreUnavailable("unreachable", "down");
	};
	const measured = {
		now: clock.now,
		budgets,
		isStoreAvailable: () => now.up && now.writable,
		metrics: {
			snapshots: () => available([{ ...now, endpoint: { id: "e" } }]),
			oldestWaits: () => available(new Map([["e", now.wait]])),
		},
		hooks: { gpuTotals: () => new Map([["e", { ms: gpu }]]) },
		families: () =>
			available([
				{ name: "sluice_webhooks_pending", samples: [[["e"], now.pending]] },
				{
					name: "sluice_webhooks_total",
					samples: [
						[["e", "failed"], now.givenUp],
						[["e", "delivered"], now.jobs.completed],
					],
				},
			]),
		storeLoad: () => ({ commitMs }),
		disk: { freeBytes: async () => now.free },
		standbys: () => available(now.standbys),
		skewFromDatabase: () => now.skew,
	} as unknown as Measured;
	const [server, service] = [serverConditions(measured), serviceConditions(measured)];
	const all = async (): Promise<Measurement> => ({ ...(await server("a")), ...(await service([])) });
	/** Those whose condition holds, with their labels. */
	async function active(): Promise<Record<string, object[]>> {
		const holds = Object.entries(await all()).map(([name, values]) => {
			const { comparison, threshold } = ruleOf(name as AlertName);
			const found = values.filter(([, value]) => (comparison === ">" ? value > threshold : value < threshold));
			return [name, found.map(([labels]) => labels)] as const;
		});
		return Object.fromEntries(holds.filter(([, found]) => found.length > 0));
	}
	return { clock, now, commitMs, budgets, gpu, active, service };
}

it("D53: what is near to a fault raises none, also what was counted before the first look", async () => {
	const { clock, now, commitMs, budgets, gpu, active } = bed();
	for (let n = 0; n < 50; n += 1) observe(commitMs, 2000);
	budgets.memory.spent = 7;
	gpu.starting = 99;
	expect(await active()).toEqual({});
	await clock.advance(60_000);
	for (let n = 0; n < 1000; n += 1) observe(commitMs, 10);
	budgets.failedKeysPerAddress.spent = 50;
	gpu.starting += 1;
	gpu.busy += 2;
	now.jobs = { completed: 1095, failed: 505 };
	now.wait = 300_000;
	now.pending = 500;
	now.health = { state: "hindered", reason: { code: "image_pull" } };
	expect(await active()).toEqual({});
	// Four failures are no trend; the wait of a paused endpoint is wanted.
	Object.assign(now, { jobs: { completed: 1095, failed: 504 }, wait: 301_000, paused: true });
	expect(await active()).toEqual({});
});

it("D53: each fault raises its alert, with its labels, and only that", async () => {
	const { clock, now, commitMs, budgets, gpu, active, service } = bed();
	await active();
	await clock.advance(60_000);
	const endpoint = { endpoint: "e" };
	const instance = { instance: "a" };
	now.wait = 301_000;
	now.jobs = { completed: 1094, failed: 506 };
	now.pending = 501;
	now.givenUp = 1;
	now.health = { state: "hindered", reason: { code: "no_gpu_free" } };
	expect(await active()).toEqual({
		SluiceOldestWait: [endpoint],
		SluiceFailures: [endpoint],
		SluiceWebhookBacklog: [endpoint],
		SluiceWebhooksFail: [endpoint],
		SluiceNoCapacity: [{ ...endpoint, reason: "no_gpu_free" }],
	});
	Object.assign(now, { wait: 0, pending: 0 });
	// Ten minutes later only the window of an hour has them.
	await clock.advance(700_000);
	now.health = { state: "crashing", reason: undefined };
	expect(await active()).toEqual({ SluiceCrashLoop: [endpoint], SluiceWebhooksFail: [endpoint] });
	now.health.state = "no_workers";
	expect(Object.keys(await active())).toEqual(["SluiceNoWorkers", "SluiceWebhooksFail"]);
	await clock.advance(3_700_000);
	now.health.state = "healthy";
	now.standbys.isSynchronous = false;
	Object.assign(now, { free: 399, skew: -1100 });
	budgets.memory.spent = 1;
	Object.assign(gpu, { starting: 20, busy: 10 });
	for (let n = 0; n < 100; n += 1) observe(commitMs, n < 98 ? 10 : 2000);
	expect(await active()).toEqual({
		SluiceStoreSlow: [instance],
		SluiceDiskAlmostFull: [instance],
		SluiceRefuses: [{ ...instance, budget: "memory" }],
		SluiceClockSkew: [instance],
		SluiceSwaps: [instance],
		SluiceReplicationAsync: [{}],
	});
	// A full disk can be read, not written.
	now.writable = false;
	expect(Object.keys(await active())).toContain("SluiceStoreDown");
	now.writable = true;
	expect(Object.keys(await active())).not.toContain("SluiceStoreDown");
	now.up = false;
	expect(Object.keys(await active())).toContain("SluiceStoreDown");
	// What only the store knows is unknown, and no alert is resolved for that.
	expect(await service(["http://b"])).toEqual({ SluiceServerDown: [[{ instance: "http://b" }, 0]] });
});
