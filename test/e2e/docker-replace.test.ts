/**
 * Workers whose endpoint has another command, image or environment now are replaced once a new one is
 * healthy: idle ones at once, busy ones after their job. For processes and for containers.
 */
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it, type TestContext } from "vitest";
import { containersOf, docker, IMAGE, makeImage, noDocker, removeAll, titled } from "../support/docker.ts";
import { call } from "../support/service.ts";
import { ended, run, site, type Site, started, WORKER } from "./site.ts";
import { until, within } from "../support/until.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

/**
 * Declares the tests for one launcher; `changed`: another launcher that does the same, for a merge
 * patch.
 */
function replacement(q: { endpoint: string; launcher: (place: Site) => object; changed: object }): void {
	const { endpoint } = q;
	const patch = (service: { url: string }, body: object) =>
		call(service.url, `/v1/endpoints/${endpoint}`, { method: "PATCH", body });
	const settings = (place: Site): object =>
		place.launched({ launcher: q.launcher(place), workersMin: 1, workersMax: 2 });
	const workerOf = async (service: { url: string }): Promise<string> =>
		(await ended(service, endpoint, await run(service, endpoint, {}))).workerId as string;

	async function replaced(place: Site, service: { url: string }, before: string): Promise<string> {
		await until(`${before} to be removed`, () =>
			place.notes().some(({ what, worker }) => what === "down" && worker === before),
		);
		const after = await workerOf(service);
		expect(after).not.toBe(before);
		return after;
	}

	it("idle ones at once after another launcher, environment or file; not after other settings", {
		timeout: 60_000,
	}, async (test: TestContext) => {
		const place = site(test);
		let service = await place.serve({ endpoints: { [endpoint]: settings(place) } });
		const first = await workerOf(service);
		await patch(service, { idleTimeout: 7, name: "Other" });
		expect(await workerOf(service)).toBe(first);
		await patch(service, { launcher: q.changed });
		const second = await replaced(place, service, first);
		await patch(service, { env: { MODE: "other" } });
		const third = await replaced(place, service, second);
		await service.end("SIGKILL");
		const { launcher, ...rest } = settings(place) as { launcher: object };
		service = await place.serve({ endpoints: { [endpoint]: { launcher, ...rest } } });
		await replaced(place, service, third);
		expect(service.stderr()).toContain("its endpoint has another launcher or environment now");
		expect(await within("the stop", service.end())).toBe(0);
	});

	it("D28, D50: busy ones after their job, while a new one takes the next", {
		timeout: 60_000,
	}, async (test: TestContext) => {
		const place = site(test);
		const service = await place.serve({ endpoints: { [endpoint]: settings(place) } });
		const busy = await run(service, endpoint, { until: "allowed" });
		const { worker } = await started(place, busy);
		await patch(service, { env: { MODE: "other" } });
		const next = await run(service, endpoint, { until: "allowed" });
		await until("another worker to take the next job", () => place.runs(next).length > 0);
		expect(place.notes().some(({ what }) => what === "down")).toBe(false);
		place.allow("allowed");
		expect(await ended(service, endpoint, busy)).toMatchObject({
			status: "COMPLETED",
			workerId: worker,
		});
		const job = await ended(service, endpoint, next);
		expect(job.status).toBe("COMPLETED");
		expect(job.workerId).not.toBe(worker);
		await until("the old worker to exit", () =>
			place.notes().some((note) => note.what === "down" && note.worker === worker),
		);
		expect(await within("the stop", service.end())).toBe(0);
	});
}

describe("changed settings of an endpoint with processes", () => {
	replacement({
		endpoint: "ours",
		launcher: () => ({ type: "process", command: WORKER }),
		changed: { command: [WORKER[0], "--no-warnings", WORKER[1]] },
	});
});

describe.skipIf(noDocker !== undefined)(titled("changed settings of an endpoint with containers"), () => {
	const endpoint = `replace-${process.pid}`;
	beforeAll(async () => {
		await makeImage();
		await docker("tag", IMAGE, "sluice-test-worker:other");
		return () => removeAll(`sluice.endpoint=${endpoint}`);
	}, 60_000);

	replacement({
		endpoint,
		launcher: ({ folder: { path } }) => ({
			type: "docker",
			image: IMAGE,
			command: ["node", WORKER[1]],
			volumes: [`${ROOT}:${ROOT}:ro`, `${path}:${path}`],
		}),
		changed: { image: "sluice-test-worker:other" },
	});

	it("leaves no container", async () => {
		expect(await containersOf(`sluice.endpoint=${endpoint}`)).toEqual([]);
	});
});
