/**
 * The server dies by SIGKILL: nothing that it acknowledged may be lost, and nothing that goes on
 * without it may run twice (D16, D17).
 */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { call, type ServiceProcess } from "../support/service.ts";
import { ended, isAlive, run, site, started } from "./site.ts";
import { until } from "../support/until.ts";

const EXTERNAL = { launcher: { type: "external" } };

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
function random(seed: number): () => number {
	let state = seed;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let t = Math.imul(state ^ (state >>> 15), 1 | state);
		t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
		return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
	};
}

/** A job whose input and output are in payload files. */
const LARGE = { size: 100_000, padding: "x".repeat(100_000) };

describe("kill -9 of the server", () => {
	it.for([1, 2])(
		"D17: loses no acknowledged job and no result, and repeats no run of a living worker, at moments of seed %i",
		{ timeout: 60_000 },
		async (seed, test) => {
			const KILLS = 3;
			const JOBS_PER_LIFE = 100;
			const next = random(seed);
			const place = site(test);
			const settings = { leaseMs: 2000, limits: "off" };
			let service = await place.serve({
				endpoints: {
					ours: place.launched({ workersMin: 2, workersMax: 2, ...settings }),
					theirs: { ...EXTERNAL, ...settings },
				},
			});
			await place.attach(service, "theirs", { CONCURRENCY: "4" });
			const acknowledged = new Map<string, { endpoint: string; n: number }>();
			let submitted = 0;
			let refused = 0;
			let over = false;

			async function submitter(): Promise<void> {
				while (!over) {
					const n = (submitted += 1);
					const endpoint = n % 2 === 0 ? "ours" : "theirs";
					const answer = await call(service.url, `/v2/${endpoint}/run`, {
						body: { input: { n, ms: Math.floor(next() * 15), ...(n % 5 === 0 && LARGE) } },
					}).catch(() => undefined);
					if (answer?.status === 200) acknowledged.set(answer.json.id, { endpoint, n });
					else {
						refused += 1;
						await sleep(5);
					}
				}
			}

			const submitters = Array.from({ length: 8 }, () => submitter());
			try {
				for (let kills = 0; kills < KILLS; kills += 1) {
					const goal = acknowledged.size + 1 + Math.floor(next() * JOBS_PER_LIFE);
					await until(`${goal} acknowledged jobs`, () => acknowledged.size >= goal);
					await sleep(next() * 20);
					await service.end("SIGKILL");
					service = await place.serve();
				}
			} finally {
				over = true;
				await Promise.all(submitters);
			}

			expect(refused, "the server was down for some submissions").toBeGreaterThan(0);
			for (const [id, { endpoint, n }] of acknowledged) {
				const job = await ended(service, endpoint, id);
				expect(job, JSON.stringify(job)).toMatchObject({ status: "COMPLETED", output: { n } });
				if (n % 5 === 0) expect(job.output.padding).toHaveLength(LARGE.size);
			}
			// No worker died, so no attempt was truly lost: whatever began to run has run once.
			const counts = new Map<string, number>();
			for (const { what, id } of place.notes()) if (what === "run") counts.set(id, (counts.get(id) ?? 0) + 1);
			const twice = [...counts].filter(([, count]) => count > 1);
			expect(twice, `jobs that ran twice, of ${counts.size}`).toEqual([]);
			expect(counts.size).toBeGreaterThanOrEqual(acknowledged.size);
		},
	);

	it.concurrent("D16, D34: in the middle of running jobs leaves them with their workers; each runs once", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		let service = await place.serve({
			endpoints: {
				ours: place.launched({
					workersMax: 1,
					leaseMs: 2000,
					env: { DIARY: `${place.folder.path}/diary`, CONCURRENCY: "2" },
				}),
				theirs: { ...EXTERNAL, leaseMs: 2000 },
			},
		});
		await place.attach(service, "theirs", { CONCURRENCY: "2" });
		const jobs = [];
		for (const endpoint of ["ours", "theirs"])
			for (const word of ["down", "back"])
				jobs.push({ endpoint, word, id: await run(service, endpoint, { until: word }) });
		for (const { id } of jobs) await started(place, id);
		const pid = place.runs(jobs[0]!.id)[0]!.pid;

		await service.end("SIGKILL");
		place.allow("down");
		await until(
			"the runs to end while no server is there",
			() => place.notes().filter((each) => each.what === "end").length === 2,
		);
		service = await place.serve();
		for (const { endpoint, id } of jobs.filter(({ word }) => word === "down"))
			expect(await ended(service, endpoint, id)).toMatchObject({ status: "COMPLETED" });
		place.allow("back");
		for (const { endpoint, id } of jobs) {
			const job = await ended(service, endpoint, id);
			expect(job).toMatchObject({ status: "COMPLETED" });
			expect(job).not.toHaveProperty("retries");
			expect(place.runs(id)).toHaveLength(1);
		}
		expect(isAlive(pid), "the launched worker was adopted").toBe(true);
		expect(service.stderr()).toContain("taken over");
	});

	it.concurrent.for(["ours", "theirs"])(
		"D16: with the worker dead too, its job runs again (%s)",
		{ timeout: 40_000 },
		async (endpoint, test) => {
			const place = site(test);
			const endpoints = {
				ours: place.launched({ workersMax: 1, leaseMs: 2000 }),
				theirs: { ...EXTERNAL, leaseMs: 2000 },
			};
			let service: ServiceProcess = await place.serve({ endpoints });
			if (endpoint === "theirs") await place.attach(service, endpoint);
			const id = await run(service, endpoint, { until: "allowed" });
			const first = await started(place, id);
			await service.end("SIGKILL");
			process.kill(first.pid, "SIGKILL");
			await until("the worker to exit", () => !isAlive(first.pid));
			service = await place.serve();
			if (endpoint === "theirs") await place.attach(service, endpoint);
			const second = await started(place, id, 1);
			expect(second.worker).not.toBe(first.worker);
			place.allow("allowed");
			expect(await ended(service, endpoint, id)).toMatchObject({ status: "COMPLETED", retries: 1 });
			expect(place.runs(id)).toHaveLength(2);
		},
	);
});
