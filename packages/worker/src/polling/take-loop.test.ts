import { afterEach, describe, expect, it, vi } from "vitest";
import { systemClock, type Clock } from "../clock.ts";
import { createHeldJobs, type HeldJob } from "../held-jobs.ts";
import { newHeldTable } from "../pings/held-table.ts";
import { openPoll } from "./poll.ts";
import { readSettings, requestHeaders } from "../settings.ts";
import { takeLoop } from "./take-loop.ts";
import { scriptedService, type Script } from "../../../../test/support/worker-kit/scripted-service.ts";
import type { StartOptions } from "../types.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
	for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** Keeps the event loop busy. */
function block(ms: number): void {
	const until = systemClock.now() + ms;
	while (systemClock.now() < until);
}

/**
 * A take loop whose pauses are recorded and skipped, with jobs that run until the test ends them.
 */
async function looping({
	concurrency = 1,
	script,
	onRun = () => {},
}: {
	concurrency?: StartOptions["concurrency"] & {};
	script?: Script;
	onRun?: (id: string) => void;
}) {
	const service = await scriptedService();
	if (script) service.script = script;
	const settings = readSettings(service.env())!;
	const pauses: number[] = [];
	const clock: Clock = {
		now: () => systemClock.now(),
		sleep: (ms, signal) => {
			if (ms < 60_000) pauses.push(ms);
			return systemClock.sleep(ms < 60_000 ? 1 : ms, signal);
		},
	};
	const held = createHeldJobs(newHeldTable(), () => {});
	const lines: string[] = [];
	const entries = new Map<string, HeldJob>();
	const stopping = new AbortController();
	const poll = openPoll({
		origin: settings.takeOrigin,
		headers: requestHeaders(settings.key),
		timeoutMs: 90_000,
		clock: systemClock,
	});
	const loop = takeLoop({
		poll,
		path: (batch, busy) => settings.takePath(batch, busy),
		held,
		concurrency,
		clock,
		run: (job, entry) => {
			entries.set(job.id, entry);
			onRun(job.id);
		},
		onBatchSize: () => {},
		onChunkBatch: () => {},
		onReturns: () => {},
		random: () => 0,
		log: (level, message) => lines.push(`${level} ${message}`),
		stopping: stopping.signal,
	});
	const takes = () => service.seen.filter((one) => one.route.startsWith("job-take"));
	const asked = (count: number) => service.until((one) => one.route.startsWith("job-take"), count);
	cleanups.push(async () => {
		stopping.abort();
		await poll.hangUp(1000);
		await loop;
		await service.down();
	});
	return { service, pauses, held, lines, entries, takes, asked };
}

describe("B.2: what a take asks", () => {
	it("one job on the single path, with the bare key and nothing in progress", async () => {
		const { asked } = await looping({});
		const take = await asked(1);
		expect(take).toMatchObject({
			method: "GET",
			route: "job-take",
			ids: ["w-1"],
			query: { gpu: "none", job_in_progress: "0" },
		});
		expect(take.headers.authorization).toBe("worker-key");
	});

	it("several on the batch path, then as many as are still free", async () => {
		const { service, asked, entries, held, takes } = await looping({ concurrency: 4 });
		expect(await asked(1)).toMatchObject({
			route: "job-take-batch",
			query: { batch_size: "4", job_in_progress: "0" },
		});
		service.give({ id: "a", input: 1 }, { id: "b", input: 2 }, { id: "c", input: 3 });
		expect(await asked(2)).toMatchObject({ route: "job-take", query: { job_in_progress: "1" } });
		service.give({ id: "d", input: 4 });
		await vi.waitFor(() => expect(entries.size).toBe(4), 20_000);
		for (const entry of entries.values()) held.ran(entry);
		expect((await asked(3)).query).toMatchObject({ batch_size: "2", job_in_progress: "1" });
		expect(takes()).toHaveLength(3);
	});

	it("says 0 in progress only when every report is acknowledged", async () => {
		const { service, asked, entries, held } = await looping({ concurrency: 2 });
		await asked(1);
		service.give({ id: "a", input: 1 });
		expect((await asked(2)).query.job_in_progress).toBe("1");
		held.ran(entries.get("a")!);
		service.release();
		expect((await asked(3)).query.job_in_progress).toBe("1");
		held.remove(entries.get("a")!);
		service.release();
		expect((await asked(4)).query.job_in_progress).toBe("0");
	});

	it("B.4: asks the concurrency function before each take", async () => {
		const given: number[] = [];
		const { service, asked } = await looping({
			concurrency: (current) => (given.push(current), given.length === 1 ? 3 : 5),
		});
		expect((await asked(1)).query.batch_size).toBe("3");
		service.release();
		expect((await asked(2)).query.batch_size).toBe("5");
		expect(given.slice(0, 2)).toEqual([1, 3]);
	});

	it("B.4: a concurrency below 1 is a pause: no takes, the function is called each second, running jobs go on", async () => {
		const wanted = [2, 0, 0.9, -3, 2.7];
		const given: number[] = [];
		const { service, asked, takes, pauses, held, entries } = await looping({
			concurrency: (current) => {
				given.push(current);
				return wanted.shift() ?? 2;
			},
		});
		await asked(1);
		service.give({ id: "a", input: 1 });
		await asked(2);
		expect(given.slice(0, 5)).toEqual([1, 2, 0, 0, 0]);
		expect(pauses).toEqual([1000, 1000, 1000]);
		expect(takes().map(({ query }) => query.batch_size)).toEqual(["2", undefined]);
		expect(held.running).toBe(1);
		held.remove(entries.get("a")!);
	});

	it.each([[Number.NaN], [Infinity], [undefined as unknown as number]])(
		"B.4: a concurrency of %s is not taken: the number before stays, and the log says why",
		async (bad) => {
			const wanted = [3, bad];
			const { service, asked, lines } = await looping({ concurrency: () => wanted.shift() ?? 5 });
			expect((await asked(1)).query.batch_size).toBe("3");
			service.release();
			expect((await asked(2)).query.batch_size).toBe(bad === undefined ? "5" : "3");
			if (bad !== undefined)
				expect(lines).toEqual([
					`ERROR The concurrency function failed; using 3: RangeError: it returned ${bad}, which is not a finite number`,
				]);
		},
	);
});

describe("B.3: what it makes of the answers", () => {
	const statuses =
		(...list: [status: number, body?: string, type?: string][]): Script =>
		(seen, response) => {
			const next = seen.route.startsWith("job-take") ? list.shift() : undefined;
			if (!next) return false;
			response.writeHead(next[0], { "content-type": next[2] ?? "application/json" }).end(next[1]);
			return true;
		};

	it("asks again at most 100 ms after an empty answer", async () => {
		const script = statuses(
			[204],
			[400, "{}"],
			[200, "[]"],
			[200, ""],
			[200, "{"],
			[200, '{"id":"x","input":1}', "text/plain"],
		);
		const { asked, pauses, entries } = await looping({ script });
		await asked(7);
		expect(Math.max(...pauses)).toBeLessThanOrEqual(100);
		expect(entries.size).toBe(0);
	});

	it("waits 5 s after 429", async () => {
		const { asked, pauses } = await looping({ script: statuses([429]) });
		await asked(2);
		expect(pauses).toEqual([5000]);
	});

	it("waits a second after a refusal and logs it once", async () => {
		const { asked, pauses, lines } = await looping({
			script: statuses([401], [401], [401], [503], [204]),
		});
		await asked(6);
		expect(pauses.slice(0, 4)).toEqual([1000, 1000, 1000, 1000]);
		expect(lines.map((line) => line.slice(0, 5))).toEqual(["ERROR", "ERROR", "INFO "]);
	});

	it("waits a second while the service is unavailable and comes back", async () => {
		const { service, asked, pauses, lines, takes } = await looping({});
		await asked(1);
		await service.down();
		await vi.waitFor(() => expect(pauses.length).toBeGreaterThan(2), 20_000);
		expect(pauses.every((ms) => ms === 1000)).toBe(true);
		const before = takes().length;
		await service.up();
		await asked(before + 1);
		expect(lines.filter((line) => line.includes("ECONNREFUSED"))).toHaveLength(1);
	});

	it("accepts a list on the single path, drops what is no job, and takes on", async () => {
		const script = statuses([200, '{"id":"no-input"}'], [200, '[{"id":"a","input":1}]']);
		const { entries, lines } = await looping({ script });
		await vi.waitFor(() => expect(entries.size).toBe(1), 20_000);
		expect(lines).toEqual(["ERROR Job has missing field(s): id or input."]);
		expect([...entries.keys()]).toEqual(["a"]);
	});

	it("lets results out between handlers that block", async () => {
		const order: string[] = [];
		const onRun = (id: string) => {
			order.push(id);
			setImmediate(() => order.push(`${id} got out`));
			block(10);
		};
		const { service, asked } = await looping({ concurrency: 3, onRun });
		await asked(1);
		service.give({ id: "a", input: 1 }, { id: "b", input: 1 });
		await asked(2);
		expect(order.slice(0, 3)).toEqual(["a", "a got out", "b"]);
	});

	it("D16: a job received again while it is held runs only once", async () => {
		const { service, asked, entries, lines } = await looping({ concurrency: 3 });
		await asked(1);
		service.give({ id: "a", input: 1 }, { id: "a", input: 1 });
		await asked(2);
		expect(entries.size).toBe(1);
		expect(lines[0]).toMatch(/received again/);
	});
});
