import { afterEach, describe, expect, it, vi } from "vitest";
import { scriptedService } from "../../../../test/support/worker-kit/scripted-service.ts";
import { startWorker } from "../../../../test/support/worker-kit/run-worker.ts";
import { systemClock } from "../clock.ts";
import { jobsToStop } from "./stop-loop.ts";
import type { StartOptions } from "../types.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
	for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function working(options: StartOptions) {
	const service = await scriptedService();
	const worker = startWorker(service, options);
	cleanups.push(() => worker.stop().then(() => service.down()));
	return { service, worker };
}

const aborted = (signal: AbortSignal) =>
	new Promise<never>((_resolve, reject) => {
		signal.addEventListener("abort", () => reject(signal.reason as Error));
	});

describe("B.8, D18: the stop channel", () => {
	it("aborts the named job's signal, posts nothing for it, and leaves the others alone", async () => {
		let finish = () => {};
		const finished = new Promise<void>((resolve) => (finish = resolve));
		const started: string[] = [];
		const { service } = await working({
			concurrency: 2,
			handler: (job, { signal }) => {
				started.push(job.id);
				return job.id === "stopped" ? aborted(signal) : finished.then(() => "kept");
			},
		});
		service.give({ id: "stopped", input: 1 }, { id: "kept", input: 1 });
		await vi.waitFor(() => expect(started).toHaveLength(2), 20_000);
		service.stopJobs("stopped", "unknown");
		await service.until((one) => one.route === "ping" && one.query.job_id === "kept");
		finish();
		await service.until((one) => one.route === "job-done");
		expect(service.results()).toEqual(['{"output":"kept"}']);
	});

	it("a stopped generator gets no further than its next chunk", async () => {
		let ended = false;
		const { service } = await working({
			handler: async function* (_job, { signal }) {
				try {
					yield 0;
					await aborted(signal).catch(() => {});
					yield 1;
				} finally {
					ended = true;
				}
			},
		});
		service.give({ id: "a", input: 1 });
		await service.until((one) => one.route === "job-stream");
		service.stopJobs("a");
		await vi.waitFor(() => expect(ended).toBe(true), 20_000);
		await service.until((one) => one.query.job_in_progress === "0", 2);
		expect([service.of("job-stream").length, service.results().length]).toEqual([1, 0]);
	});

	it("a job whose handler ignores the signal stays in the pings until it ends, then posts nothing", async () => {
		let finish = () => {};
		const finished = new Promise<void>((resolve) => (finish = resolve));
		const { service, worker } = await working({ handler: () => finished });
		service.give({ id: "a", input: 1 });
		await service.until((one) => one.query.job_id === "a");
		service.stopJobs("a");
		await vi.waitFor(() => expect(worker.lines.join("")).toContain("Stopping the job"), 20_000);
		const before = service.of("ping").length;
		await service.until((one) => one.route === "ping", before + 2);
		expect(service.of("ping").at(-1)!.query.job_id).toBe("a");
		finish();
		await service.until((one) => one.query.job_in_progress === "0", 2);
		expect(service.results()).toEqual([]);
	});

	it("ends the repeats of a report", async () => {
		const { service } = await working({ handler: () => "x" });
		service.script = (seen, response) => {
			if (seen.route !== "job-done") return false;
			response.writeHead(500).end();
			return true;
		};
		service.give({ id: "a", input: 1 });
		await service.until((one) => one.route === "job-done", 2);
		service.stopJobs("a");
		await service.until((one) => one.query.job_in_progress === "0", 2);
		const posts = service.results().length;
		await service.until((one) => one.route === "ping", service.of("ping").length + 2);
		expect(service.results()).toHaveLength(posts);
	});

	it("D26: a stop that is repeated at once is asked for once a second, not in a hot loop", async () => {
		const { service } = await working({
			handler: (_job, { signal }) => aborted(signal).catch(() => systemClock.sleep(1500)),
		});
		service.script = (seen, response) => {
			if (seen.route !== "job-stop") return false;
			response.writeHead(200, { "content-type": "application/json" }).end('{"jobsToStop":["a"]}');
			return true;
		};
		service.give({ id: "a", input: 1 });
		await service.until((one) => one.query.job_in_progress === "0", 2);
		expect(service.of("job-stop").length).toBeLessThan(8);
	});

	it("reads only strings", () => {
		expect(jobsToStop('{"jobsToStop":["a",1,null,"b"]}')).toEqual(["a", "b"]);
		for (const text of ["", "[]", "{}", '{"jobsToStop":1}', "null"]) expect(jobsToStop(text)).toEqual([]);
	});
});
