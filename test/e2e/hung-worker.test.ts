/** Launched workers that hang: killed after two leases without a sign, and replaced (D16). */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { ended, run, site, type Site, started } from "./site.ts";
import { until } from "../support/until.ts";

const SETTINGS = { leaseMs: 2000, workersMax: 1 };

/** Resolves with the process of the worker that runs the job. */
async function processOf(place: Site, id: string): Promise<number> {
	await started(place, id);
	return place.runs(id)[0]!.pid;
}

describe("D16: a launched worker does not answer", () => {
	it.concurrent("stopped by SIGSTOP during a job, as the only one: it is killed, and the job runs on another", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		const service = await place.serve({ endpoints: { e: place.launched(SETTINGS) } });
		const id = await run(service, "e", { until: "end" });
		const pid = await processOf(place, id);
		process.kill(pid, "SIGSTOP");
		place.allow("end");
		expect(await ended(service, "e", id)).toMatchObject({ status: "COMPLETED", retries: 1 });
		expect(place.runs(id)).toHaveLength(2);
		expect(() => process.kill(pid, 0)).toThrow();
		expect(service.stderr()).toMatch(/is stopped: it did not answer for \d+ s; it is killed/);
	});

	it.concurrent("stopped while idle: the next job waits two leases at most", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		const service = await place.serve({
			endpoints: { e: place.launched({ ...SETTINGS, idleTimeout: 600 }) },
		});
		const first = await run(service, "e", {});
		const pid = await processOf(place, first);
		await ended(service, "e", first);
		process.kill(pid, "SIGSTOP");
		const id = await run(service, "e", {});
		expect(await ended(service, "e", id)).toMatchObject({ status: "COMPLETED" });
		expect(place.runs(id)[0]!.pid).not.toBe(pid);
	});

	it.concurrent("one that blocks its event loop and pings is left alone", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		const service = await place.serve({ endpoints: { e: place.launched(SETTINGS) } });
		const id = await run(service, "e", { block: 3 * SETTINGS.leaseMs });
		expect(await ended(service, "e", id)).toMatchObject({ status: "COMPLETED" });
		expect(place.runs(id)).toHaveLength(1);
		expect(service.stderr()).not.toMatch(/did not answer/);
	});

	it.concurrent("the service itself was stopped: no worker is killed for that", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		const service = await place.serve({ endpoints: { e: place.launched(SETTINGS) } });
		const id = await run(service, "e", { until: "end" });
		await started(place, id);
		service.child.kill("SIGSTOP");
		await sleep(3 * SETTINGS.leaseMs);
		service.child.kill("SIGCONT");
		await until("the service to notice", () => service.stderr().includes("all leases were extended"));
		await sleep(SETTINGS.leaseMs);
		place.allow("end");
		const job = await ended(service, "e", id);
		expect(job).toMatchObject({ status: "COMPLETED" });
		expect(job).not.toHaveProperty("retries");
		expect(service.stderr()).not.toMatch(/did not answer/);
	});
});
