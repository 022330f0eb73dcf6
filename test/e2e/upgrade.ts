/** An upgrade of one server: SIGTERM and a new start, under load (D34). */
import { expect } from "vitest";
import type { ServiceProcess } from "../support/service.ts";
import { within } from "../support/until.ts";
import { ended, run, type Site, started } from "./site.ts";

/** Longest time that a stop may take, and the next start with its take-over, ms. */
const STOP_MS = 4000;

/** Settings of the endpoint: two workers, which short jobs share while one of them runs a long one. */
export const UPGRADED = { workersMin: 2, workersMax: 2, leaseMs: 10_000 };

/**
 * Stops the service by SIGTERM while a worker runs a job and others wait, and begins it again: each
 * job runs once, and no worker is started again. Returns the service.
 */
export async function upgrade(
	place: Site,
	q: { endpoint: string; service: ServiceProcess; begin: () => Promise<ServiceProcess> },
): Promise<ServiceProcess> {
	const { endpoint } = q;
	const long = await run(q.service, endpoint, { until: "upgraded" });
	const { worker } = await started(place, long);
	const jobs: string[] = [];
	for (let n = 0; n < 10; n += 1) jobs.push(await run(q.service, endpoint, { n, ms: 50 }));
	await started(place, jobs[0]!);
	const began = performance.now();
	expect(await within("the stop", q.service.end("SIGTERM"))).toBe(0);
	expect(performance.now() - began).toBeLessThan(STOP_MS);
	const service = await q.begin();
	for (let n = 10; n < 15; n += 1) jobs.push(await run(service, endpoint, { n }));
	for (const id of jobs) expect(await ended(service, endpoint, id)).toMatchObject({ status: "COMPLETED" });
	place.allow("upgraded");
	const job = await ended(service, endpoint, long);
	expect(job).toMatchObject({ status: "COMPLETED", workerId: worker });
	expect(job).not.toHaveProperty("retries");
	for (const id of [long, ...jobs]) expect(place.runs(id), `runs of ${id}`).toHaveLength(1);
	const ups = place.notes().filter(({ what }) => what === "up");
	expect(ups, "workers that were started").toHaveLength(UPGRADED.workersMax);
	expect(service.stderr().match(/taken over/g)).toHaveLength(UPGRADED.workersMax);
	return service;
}
