/** Cases: launched workers that have ended, and how those of past attempts did (D16, D47). */
import { expect, it } from "vitest";
import type { EndedWorker } from "../../src/kernel/core/workers/ended-worker.ts";
import type { Bed } from "./index.ts";
import { alone, nextId, siteOf, T0 } from "./site.ts";

export function endedWorker(part: Partial<EndedWorker> = {}): EndedWorker {
	return {
		id: nextId(),
		endpoint: "e",
		launcher: "process",
		createdAt: T0,
		endedAt: T0,
		message: "It ended.",
		lastOutput: "",
		...part,
	};
}

export function endedWorkerCases({ store, open }: Bed): void {
	it("D47: what is known of the end replaces the worker's record", () =>
		alone(open, async ({ store: { workers } }) => {
			const worker = endedWorker({
				host: "rig1",
				readyAt: T0 + 1,
				endedAt: T0 + 2,
				exitCode: 7,
				signal: "SIGSEGV",
				code: "crashed",
				lastOutput: "one\ntwo ä",
			});
			const { id, endpoint } = worker;
			await workers.put({ id, endpoint, launcher: "process", createdAt: T0 });
			for (let times = 0; times < 2; times += 1) await workers.end({ worker, count: 50, since: T0 });
			expect(await workers.list()).toEqual([]);
			expect(await workers.ended({ endpoint, since: T0, limit: 50 })).toEqual([worker]);
			expect(await workers.ended({ endpoint: "other", since: T0, limit: 50 })).toEqual([]);
		}));

	it("D47: of each endpoint the last ones are kept, those that ended last first", async () => {
		const { endpoint } = siteOf(store());
		const { workers } = store();
		const ends = Array.from({ length: 5 }, (_, n) => endedWorker({ endpoint, endedAt: T0 + n }));
		const other = endedWorker({ endpoint: `${endpoint}-other`, endedAt: T0 });
		for (const worker of [...ends, other]) await workers.end({ worker, count: 3, since: T0 });
		const of = (q: { since: number; limit: number }) => workers.ended({ endpoint, ...q });
		expect(await of({ since: T0, limit: 50 })).toEqual(ends.slice(2).toReversed());
		expect(await of({ since: T0, limit: 2 })).toEqual(ends.slice(3).toReversed());
		expect(await of({ since: T0 + 4, limit: 50 })).toEqual(ends.slice(4));
		const late = endedWorker({ endpoint, endedAt: T0 + 10 });
		await workers.end({ worker: late, count: 3, since: T0 + 4 });
		expect(await of({ since: T0, limit: 50 })).toEqual([late, ends[4]]);
		expect(await workers.ended({ endpoint: other.endpoint, since: T0, limit: 50 }), "of another endpoint").toEqual([
			other,
		]);
	});

	it("D47: a deleted endpoint has none", () =>
		alone(open, async ({ store: { workers, endpoints } }) => {
			const worker = endedWorker();
			const { endpoint } = worker;
			await endpoints.put({ id: endpoint, settings: "{}", now: T0 });
			await workers.end({ worker, count: 50, since: T0 });
			await endpoints.remove({ id: endpoint });
			expect(await endpoints.forget({ id: endpoint, now: T0 })).toBe(true);
			expect(await workers.ended({ endpoint, since: 0, limit: 50 })).toEqual([]);
		}));

	it("D16: a lost attempt has how its worker ended, and the third one's error names all", async () => {
		const site = siteOf(store());
		const { endpoint } = site;
		const { id } = await site.running({ worker: "w1" });
		const idle = (worker: string, workerEnd?: string) =>
			store().workers.idle({
				endpoint,
				worker,
				before: Infinity,
				dead: true,
				workerEnd,
				now: T0 + 1,
			});
		expect(await idle("w1", "exit code 7")).toMatchObject({ lost: [id] });
		await site.take({ worker: "w2", now: T0 + 1 });
		await idle("w2");
		await site.take({ worker: "w3", now: T0 + 1 });
		await idle("w3", "out of memory");
		expect(await site.attempts(id)).toMatchObject([
			{ worker: "w1", end: "lost", open: false, workerEnd: "exit code 7" },
			{ worker: "w2", end: "lost", open: false },
			{ worker: "w3", end: "lost", open: false, workerEnd: "out of memory" },
		]);
		expect((await site.attempts(id))[1]).not.toHaveProperty("workerEnd");
		const { error } = (await site.get(id, T0 + 1)) ?? {};
		expect(error).toContain(
			"attempt 1 on worker w1 (exit code 7), attempt 2 on worker w2, " + "attempt 3 on worker w3 (out of memory).",
		);
	});

	it("D16: an attempt that was lost before has how its worker ended once that is known", async () => {
		const site = siteOf(store());
		const { endpoint } = site;
		const { id } = await site.running({ worker: "w1" });
		await site.move(id, "lose", { attempt: 1 });
		expect(await site.attempts(id)).toMatchObject([{ open: true }]);
		await store().workers.idle({
			endpoint,
			worker: "w1",
			before: Infinity,
			dead: true,
			workerEnd: "exit code 7",
			now: T0 + 1,
		});
		expect(await site.attempts(id)).toEqual([
			expect.objectContaining({ open: false, killed: true, workerEnd: "exit code 7" }),
		]);
	});
}
