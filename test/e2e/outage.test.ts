/**
 * The service does not run for a while, longer than a lease; the workers do. Nothing may run twice
 * for that (D16 Outages).
 */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { ended, run, site, type Site, started } from "./site.ts";
import { until } from "../support/until.ts";

/** Twice the lease of the endpoints here, ms. */
const AWAY_MS = 4000;

const SETTINGS = { leaseMs: 2000 };

/** One endpoint with a launched worker, one with an external one that runs two jobs at once. */
function endpoints(place: Site): Record<string, object> {
	return {
		ours: place.launched({ workersMax: 1, ...SETTINGS }),
		theirs: { launcher: { type: "external" }, ...SETTINGS },
	};
}

describe("the service is down for longer than a lease", () => {
	it.concurrent("D16: stopped by SIGSTOP: work that goes on runs once, whether it ends during or after", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		const service = await place.serve({ endpoints: endpoints(place) });
		await place.attach(service, "theirs", { CONCURRENCY: "2" });
		const jobs = [
			{ endpoint: "theirs", id: await run(service, "theirs", { until: "during" }) },
			{ endpoint: "theirs", id: await run(service, "theirs", { until: "after" }) },
			{ endpoint: "ours", id: await run(service, "ours", { until: "after" }) },
		];
		for (const { id } of jobs) await started(place, id);
		// Somebody who would take a job that came back.
		await place.attach(service, "theirs");
		service.child.kill("SIGSTOP");
		place.allow("during");
		await until("the first run to end", () => place.notes().some((each) => each.what === "end"));
		await sleep(AWAY_MS);
		service.child.kill("SIGCONT");
		await until("the service to notice", () => service.stderr().includes("all leases were extended"));
		expect(await ended(service, "theirs", jobs[0]!.id)).toMatchObject({ status: "COMPLETED" });
		// A wrong loss would be settled by now and run elsewhere within the next lease.
		await sleep(SETTINGS.leaseMs + 1000);
		place.allow("after");
		await onceEach(place, service, jobs);
	});

	it.concurrent.for([
		{ how: "SIGKILL", signal: "SIGKILL" },
		{ how: "SIGTERM and --drain-timeout 0", signal: "SIGTERM" },
	] as const)(
		"D16: ended by $how and started again: the work of an external worker runs once",
		{ timeout: 40_000 },
		async ({ signal }, test) => {
			const place = site(test);
			let service = await place.serve({
				endpoints: { theirs: endpoints(place)["theirs"]! },
				args: ["--drain-timeout", "0"],
			});
			await place.attach(service, "theirs", { CONCURRENCY: "2" });
			const jobs = [
				{ endpoint: "theirs", id: await run(service, "theirs", { until: "during" }) },
				{ endpoint: "theirs", id: await run(service, "theirs", { until: "after" }) },
			];
			for (const { id } of jobs) await started(place, id);
			await place.attach(service, "theirs");
			await service.end(signal);
			place.allow("during");
			await sleep(AWAY_MS);
			service = await place.serve();
			expect(await ended(service, "theirs", jobs[0]!.id)).toMatchObject({ status: "COMPLETED" });
			await sleep(SETTINGS.leaseMs + 1000);
			place.allow("after");
			await onceEach(place, service, jobs);
		},
	);
});

async function onceEach(
	place: Site,
	service: { url: string },
	jobs: readonly { endpoint: string; id: string }[],
): Promise<void> {
	for (const { endpoint, id } of jobs) {
		const job = await ended(service, endpoint, id);
		expect(job).toMatchObject({ status: "COMPLETED" });
		expect(job).not.toHaveProperty("retries");
		expect(place.runs(id), "runs of one job").toHaveLength(1);
	}
}
