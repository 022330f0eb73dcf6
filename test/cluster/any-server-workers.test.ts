/**
 * A worker's requests may reach any server (D13, D16, D18, D29): it goes from one to the other with
 * each call.
 */
import { describe, expect, it } from "vitest";
import { idsOf, statusOf, stopsOf, submit } from "../support/sdk-worker-bench.ts";
import type { TestServer } from "../support/servers.ts";
import { call } from "../support/service.ts";
import { untilFits } from "../support/until.ts";
import { a, b, fresh, useTwoServers, worker } from "./two-servers.ts";

useTwoServers();

/** Holds a stop channel of the worker open at a server. Returns what cuts it. */
function openStopPoll(w: Awaited<ReturnType<typeof worker>>, server: TestServer): () => Promise<void> {
	const cut = new AbortController();
	const poll = w
		.at(server)
		.stop({ signal: cut.signal })
		.then(
			() => {},
			() => {},
		);
	return () => {
		cut.abort();
		return poll;
	};
}

describe("workers", () => {
	it("D16: take at one server, ping and report at the other: the job ends there, once", async () => {
		const ep = await fresh();
		const w = await worker(ep);
		const id = await submit(a.url, { input: {} }, ep);
		expect(idsOf(await w.at(a).take())).toEqual([id]);
		expect((await w.at(b).ping([id])).status).toBe(200);
		expect((await w.at(b).done(id, { output: 1 })).status).toBe(200);
		expect(await statusOf(a.url, id, ep)).toMatchObject({
			status: "COMPLETED",
			output: 1,
			workerId: w.id,
		});
		expect((await call(a.url, `/v2/${ep}/health`)).json.jobs).toMatchObject({
			completed: 1,
			retried: 0,
			inProgress: 0,
		});
	});

	it("D13: a worker that calls both is counted once, at both, as what it is", async () => {
		const ep = await fresh();
		const w = await worker(ep);
		const id = await submit(a.url, { input: {} }, ep);
		await w.at(a).take();
		await w.at(b).ping([id]);
		for (const server of [a, b]) {
			await untilFits(
				() => call(server.url, `/v2/${ep}/health`),
				({ json }) => json.workers.running === 1 && json.workers.idle === 0,
			);
			expect((await call(server.url, `/v1/endpoints/${ep}/workers`)).json.workers).toMatchObject([
				{ id: w.id, state: "running", jobs: [id] },
			]);
		}
		await w.at(b).done(id, { output: 1 });
		for (const server of [a, b])
			await untilFits(
				() => call(server.url, `/v2/${ep}/health`),
				({ json }) => json.workers.running === 0 && json.workers.idle === 1,
			);
	});

	it("D16: a worker without pings is named, whichever server notices that its lease ended", async () => {
		for (const server of [a, b]) {
			const ep = await fresh({ leaseMs: 2000 });
			const w = await worker(ep);
			const id = await submit(a.url, { input: {} }, ep);
			expect(idsOf(await w.at(server).take())).toEqual([id]);
			const { warning } = await untilFits(
				async () => (await call(server.url, `/v1/endpoints/${ep}/workers`)).json.workers[0],
				(shown) => shown.warning !== undefined,
			);
			expect(warning).toBe(
				`worker ${w.id} sends no pings: jobs that take over 2 s are started again; raise leaseMs of the endpoint`,
			);
		}
	});

	it("D18: a cancel at one server reaches the stop channel at the other", async () => {
		const ep = await fresh();
		const w = await worker(ep);
		const id = await submit(a.url, { input: {} }, ep);
		await w.at(a).take();
		const stop = w.at(b).stop();
		await untilFits(
			() => [...b.engine.workers.of(ep)].reduce((sum, { stops }) => sum + stops, 0),
			(stops) => stops === 1,
		);
		await call(a.url, `/v2/${ep}/cancel/${id}`, { method: "POST" });
		expect(stopsOf(await stop)).toEqual([id]);
	});

	it("D18: a stop channel at a server without the stop gets it, until the run is over at any server", async () => {
		// Nobody else looks before the grace is over.
		const ep = await fresh({ stopGraceMs: 60_000 });
		const w = await worker(ep);
		const id = await submit(a.url, { input: {} }, ep);
		await w.at(a).take();
		await call(a.url, `/v2/${ep}/cancel/${id}`, { method: "POST" });
		expect(stopsOf(await w.at(b).stop())).toEqual([id]);
		// Sent to one server, known to both: the next channel has nothing to send.
		const hung = new AbortController();
		const take = w
			.at(a)
			.take({ signal: hung.signal })
			.catch(() => {});
		const stopping = (server: TestServer): number =>
			[...server.engine.workers.of(ep)].reduce((sum, each) => sum + each.stopping.size, 0);
		await untilFits(
			() => stopping(a),
			(runs) => runs === 0,
		);
		expect(stopping(b)).toBe(1);
		const stop = w
			.at(b)
			.stop({ signal: hung.signal })
			.catch(() => {});
		await untilFits(
			() => stopping(b),
			(runs) => runs === 0,
		);
		hung.abort();
		await Promise.all([take, stop]);
	});

	it("D16: a take with nothing in progress gets a job that another server handed out when its lease ends", async () => {
		const ep = await fresh({ leaseMs: 2000 });
		const w = await worker(ep);
		const id = await submit(a.url, { input: {} }, ep);
		await w.at(a).take();
		expect(idsOf(await w.at(b).take())).toEqual([id]);
		expect(await statusOf(a.url, id, ep)).toMatchObject({ status: "IN_PROGRESS", retries: 1 });
	});

	it("D16: a worker that never pings keeps its leases by polls at another server than its job came from", {
		timeout: 20_000,
	}, async () => {
		const ep = await fresh({ leaseMs: 2000 });
		const w = await worker(ep);
		const id = await submit(a.url, { input: {} }, ep);
		await w.at(a).take();
		const endPoll = openStopPoll(w, b);
		const { executionTime, ...job } = await untilFits(
			() => statusOf(b.url, id, ep),
			(answer) => answer.executionTime > 6000 || answer.status !== "IN_PROGRESS",
		);
		expect(executionTime).toBeGreaterThan(6000);
		expect(job).toMatchObject({ status: "IN_PROGRESS" });
		expect(job).not.toHaveProperty("retries");
		await endPoll();
		await untilFits(
			() => statusOf(b.url, id, ep),
			({ status }) => status === "IN_QUEUE",
		);
	});

	it("D16: polls at one server do not keep the lease of a job that a take at the other denied", {
		timeout: 30_000,
	}, async () => {
		const ep = await fresh({ leaseMs: 2000 });
		const w = await worker(ep);
		const id = await submit(a.url, { input: {} }, ep);
		await w.at(a).take();
		const endPoll = openStopPoll(w, b);
		expect(idsOf(await w.at(a).take())).toEqual([id]);
		expect(await statusOf(b.url, id, ep)).toMatchObject({ status: "IN_PROGRESS", retries: 1 });
		await endPoll();
	});

	it("D16: pings at one server that name a job which a take at the other denied show two processes", {
		timeout: 30_000,
	}, async () => {
		const ep = await fresh({ leaseMs: 4000 });
		const w = await worker(ep);
		const id = await submit(a.url, { input: {} }, ep);
		await w.at(a).take();
		await w.at(b).ping([id]);
		const hung = new AbortController();
		const poll = w
			.at(a)
			.take({ signal: hung.signal })
			.catch(() => {});
		const shared = b.next("worker.shared", ({ endpoint }) => endpoint === ep);
		const pinging = new AbortController();
		const pings = (async () => {
			while (!pinging.signal.aborted) {
				await w.at(b).ping([id]);
				await new Promise((later) => setTimeout(later, 500));
			}
		})();
		expect(await shared).toEqual({ endpoint: ep, worker: w.id });
		pinging.abort();
		hung.abort();
		await Promise.all([pings, poll]);
		expect(await statusOf(a.url, id, ep)).toMatchObject({ status: "IN_PROGRESS" });
	});

	it("D16: a worker that cut its poll at one server and polls at the other is not held for dead", {
		timeout: 20_000,
	}, async () => {
		const ep = await fresh({ leaseMs: 8000 });
		const w = await worker(ep);
		// Polls of this worker have lived longer than the one that is cut: here such a cut would count.
		const [held] = [...a.engine.workers.of(ep)];
		expect(held).toBeUndefined();
		const cut = new AbortController();
		const poll = w
			.at(a)
			.stop({ signal: cut.signal })
			.catch(() => {});
		const seen = await untilFits(
			() => [...a.engine.workers.of(ep)].find(({ stops }) => stops === 1),
			(found) => found !== undefined,
		);
		seen!.longestPollMs = 60_000;
		const id = await submit(a.url, { input: {} }, ep);
		expect(idsOf(await w.at(a).take())).toEqual([id]);
		await w.at(a).ping([id]);
		cut.abort();
		await poll;
		await untilFits(
			() => seen!.leftAt,
			(at) => at !== undefined,
		);
		const goesOn = new AbortController();
		const elsewhere = w
			.at(b)
			.stop({ signal: goesOn.signal })
			.catch(() => {});
		// Its pings come to the first server for more than two intervals, which are 2 s each.
		const answer = await untilFits(
			async () => (await w.at(a).ping([id]), await statusOf(b.url, id, ep)),
			({ status, executionTime }) => status !== "IN_PROGRESS" || executionTime > 6000,
		);
		expect(answer).toMatchObject({ status: "IN_PROGRESS" });
		expect(seen!.unhealthy).toBe(false);
		goesOn.abort();
		await elsewhere;
	});

	it("D18: a cancel at one server ends the worker that another one has launched, when it does not stop", {
		timeout: 30_000,
	}, async () => {
		const ep = await fresh({
			launcher: {
				type: "process",
				command: [process.execPath, "-e", "setInterval(() => {}, 1000)"],
			},
			workersMin: 1,
			workersMax: 1,
			stopGraceMs: 500,
		});
		const { json } = await untilFits(
			() => call(a.url, `/v1/endpoints/${ep}/workers`),
			(answer) => answer.json.workers.length === 1,
		);
		const [owner, other] = [...a.engine.workers.of(ep)].length > 0 ? [a, b] : [b, a];
		const [launched] = [...owner.engine.workers.of(ep)];
		// The process asks for nothing: the test takes its job for it.
		owner.engine.workers.recordCall({ id: launched!.id, endpoint: ep });
		const id = await submit(other.url, { input: {} }, ep);
		expect(
			await owner.engine.jobs.take({
				worker: launched!,
				limit: 1,
				idle: true,
				signal: new AbortController().signal,
			}),
		).toMatchObject([{ id }]);
		const exited = owner.next("worker.exited", ({ worker: who }) => who === json.workers[0].id);
		await call(other.url, `/v2/${ep}/cancel/${id}`, { method: "POST" });
		await exited;
		expect((await statusOf(owner.url, id, ep)).status).toBe("CANCELLED");
	});

	it("D29: a server reports why a job waits, also one that the worker never called", async () => {
		const ep = await fresh();
		const w = await worker(ep);
		const first = await submit(a.url, { input: {} }, ep);
		await w.at(a).take();
		const second = await submit(b.url, { input: {} }, ep);
		await untilFits(
			() => call(b.url, `/v1/endpoints/${ep}/jobs/${second}`),
			({ json }) => json.reason.code === "workers_busy",
		);
		expect((await call(b.url, `/v1/endpoints/${ep}/jobs/${first}`)).json).not.toHaveProperty("reason");
	});
});
