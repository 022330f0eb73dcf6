/** Why a job waits, as `/v1/endpoints/{endpoint}/jobs/{job}` reports it (D29). */
import { describe, expect, it } from "vitest";
import { REASON_CODES } from "../../../src/kernel/core/jobs/timeline.ts";
import { call } from "../../support/service.ts";
import { until } from "../../support/until.ts";
import { handWorker, statusOf, submitted } from "../hand-worker.ts";
import { admin, clock, ep, job, service, useJobService } from "./job-service.ts";

useJobService();

/** How a job comes to wait for each reason; answers endpoint and job. */
const WAITS: Record<(typeof REASON_CODES)[number], () => Promise<{ endpoint: string; id: string; says: RegExp }>> = {
	async paused() {
		await admin.post(`/endpoints/${ep}/pause`);
		return { endpoint: ep, id: await submitted(service, ep), says: /paused/ };
	},
	no_worker: async () => ({
		endpoint: ep,
		id: await submitted(service, ep),
		says: /sluice worker-env/,
	}),
	no_worker_allowed: async () => ({
		endpoint: "none",
		id: await submitted(service, "none"),
		says: /workersMax/,
	}),
	async workers_busy() {
		const worker = await handWorker(service, ep);
		await worker.takeThis(await submitted(service, ep));
		return { endpoint: ep, id: await submitted(service, ep), says: /The only worker is busy/ };
	},
	async worker_starting() {
		const launch = service.next("worker.launched", ({ endpoint }) => endpoint === "slow");
		const id = await submitted(service, "slow");
		const { worker } = await launch;
		return { endpoint: "slow", id, says: new RegExp(worker) };
	},
	async workers_crashing() {
		const failed = service.next("worker.failed", ({ endpoint }) => endpoint === "broken");
		const id = await submitted(service, "broken");
		await failed;
		return { endpoint: "broken", id, says: /it ended with exit code 3 before it asked for a job/ };
	},
	low_priority: async () => ({
		endpoint: "rare",
		id: await submitted(service, "rare", { input: {}, policy: { lowPriority: true } }),
		says: /start no workers/,
	}),
	async no_gpu_free() {
		const id = await submitted(service, "graphic");
		await clock.advance(1000);
		// The autoscaler's step has begun; the store may be slow meanwhile.
		await until("the reason", async () => (await job(id, "graphic")).reason.code === "no_gpu_free");
		return {
			endpoint: "graphic",
			id,
			says: /needs 1 of the machine's GPUs, and this service has 0: .*SLUICE_GPUS/,
		};
	},
	async old_attempt_running() {
		const worker = await handWorker(service, ep);
		const id = await submitted(service, ep);
		await worker.takeThis(id);
		const returned = service.next("job.returned", (facts) => facts.id === id);
		await clock.advance(21_000);
		expect((await returned).why).toBe("lost");
		return { endpoint: ep, id, says: new RegExp(worker.id) };
	},
};

describe("why a job waits", () => {
	it.each(REASON_CODES)("D29: %s", async (code) => {
		const { endpoint, id, says } = await WAITS[code]();
		const { status, reason } = await job(id, endpoint);
		expect({ status, reason }).toMatchObject({
			status: "IN_QUEUE",
			reason: { code, message: expect.stringMatching(says) },
		});
		expect(reason.message).toMatch(/^[A-Z].*\.$/);
	});

	it("D29: behind busy workers it says how many waiting jobs were submitted before", async () => {
		const worker = await handWorker(service, ep);
		await worker.takeThis(await submitted(service, ep));
		const message = async (id: string): Promise<string> => (await job(id)).reason.message;
		const ids: string[] = [];
		for (let jobs = 0; jobs < 3; jobs += 1) {
			await clock.advance(1);
			ids.push(await submitted(service, ep));
		}
		expect(await message(ids[0]!)).toBe("The only worker is busy.");
		expect(await message(ids[1]!)).toBe("The only worker is busy; 1 waiting job was submitted before.");
		expect(await message(ids[2]!)).toBe("The only worker is busy; 2 waiting jobs were submitted before.");
		await call(service.url, `/v2/${ep}/cancel/${ids[0]}`, { method: "POST" });
		expect(await message(ids[2]!)).toBe("The only worker is busy; 1 waiting job was submitted before.");
	});

	it("D29: of a worker that starts it says since when", async () => {
		const id = await submitted(service, "slow");
		await until("the start", async () => (await job(id, "slow")).reason.since !== undefined);
		const { workers } = await admin.seen("/endpoints/slow/workers");
		expect((await job(id, "slow")).reason.since).toBe(workers[0].createdAt);
	});

	it("D29: a job that does not wait has no reason", async () => {
		const worker = await handWorker(service, ep);
		const id = await submitted(service, ep);
		expect(await job(id)).toHaveProperty("reason");
		await worker.takeThis(id);
		expect(await job(id)).not.toHaveProperty("reason");
		await call(service.url, `/v2/${ep}/cancel/${id}`, { method: "POST" });
		expect(await job(id)).not.toHaveProperty("reason");
		expect((await statusOf(service, ep, id)).status).toBe("CANCELLED");
	});
});
