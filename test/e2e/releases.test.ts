/**
 * A new version of an endpoint whose workers crash is undone without a human, and no job is lost, also
 * where the service is killed in the middle; a good one replaces the workers once it is healthy (D50).
 */
import { describe, expect, it, type TestContext } from "vitest";
import { call } from "../support/service.ts";
import { until } from "../support/until.ts";
import { submitting } from "./crashed-release.ts";
import { managed } from "./managed.ts";
import { ended, run, site, type Site, WORKER } from "./site.ts";

const CRASHES = [process.execPath, "-e", "console.error('no such model'); process.exit(3)"];

type Service = { url: string };

async function made(place: Site, service: Service, settings: object = {}): Promise<void> {
	const body = { id: "ours", ...place.launched({ workersMin: 1, workersMax: 2, ...settings }) };
	expect((await call(service.url, "/v1/endpoints", { body })).status).toBe(201);
}

async function asked(service: Service, path: string, q: object = {}): Promise<any> {
	const { status, json, text } = await call(service.url, `/v1/endpoints/ours${path}`, q);
	expect(status, text).toBe(200);
	return json;
}

const patched = (service: Service, body: object): Promise<any> => asked(service, "", { method: "PATCH", body });

const releases = async (service: Service): Promise<any[]> => (await asked(service, "/releases")).releases;

const released = (service: Service, what: object): Promise<any> =>
	until(`a current release of ${JSON.stringify(what)}`, async () => {
		const [newest] = await releases(service);
		return Object.entries(what).every(([name, value]) => newest[name] === value) && newest;
	});

const workerOf = async (service: Service): Promise<string> =>
	(await ended(service, "ours", await run(service, "ours", {}))).workerId as string;

describe("releases", () => {
	const kinds = [
		{ name: "a release whose workers crash is undone, and the workers before it do all jobs", isKilled: false },
		{ name: "so it is with a kill -9 of the service in the middle", isKilled: true },
	];
	it.for(kinds)("D50: $name", { timeout: 90_000 }, async ({ isKilled }, test: TestContext) => {
		const place = site(test);
		let service = await place.serve({ endpoints: {} });
		await made(place, service);
		const first = await workerOf(service);
		await released(service, { version: 1, state: "healthy" });
		const stop = submitting(() => service, "ours");
		await patched(service, { launcher: { command: CRASHES } });
		await until("a crash", async () => (await releases(service))[0].failures > 0);
		if (isKilled) {
			await service.end("SIGKILL");
			service = await place.serve();
		}
		const undone = await released(service, { version: 3, source: "rollback", state: "healthy" });
		expect(undone.reason).toMatch(/^Version 2 was rolled back to version 1: its workers crashed 3 times/);
		expect(undone.reason).toContain("It ended with exit code 3");
		expect((await releases(service)).map(({ version, state }) => [version, state])).toEqual([
			[3, "healthy"],
			[2, "failed"],
			[1, "healthy"],
		]);
		expect((await asked(service, "")).rolledBack).toBe(undone.reason);
		const ids = await stop();
		for (const id of ids)
			expect(await ended(service, "ours", id)).toMatchObject({ status: "COMPLETED", workerId: first });
		expect(ids.length).toBeGreaterThan(3);
		expect(service.stderr()).toContain("Version 2 was rolled back to version 1");
	});

	it("D50: a release with no healthy one before it is not undone; a start takes what failed in a file no more", {
		timeout: 90_000,
	}, async (test: TestContext) => {
		const place = site(test);
		const good = place.launched({ workersMin: 1, workersMax: 2 });
		let service = await place.serve({
			endpoints: { ours: { ...good, launcher: { type: "process", command: CRASHES } } },
		});
		await until("three crashes", async () => (await releases(service))[0].failures === 3);
		expect(await releases(service)).toHaveLength(1);
		await service.end();
		service = await place.serve({ endpoints: { ours: good } });
		await released(service, { version: 2, state: "healthy" });
		await service.end();
		service = await place.serve({ endpoints: { ours: { ...good, launcher: { type: "process", command: CRASHES } } } });
		await workerOf(service);
		await released(service, { version: 4, source: "rollback" });
		await service.end();
		service = await place.serve();
		await workerOf(service);
		expect((await asked(service, "")).version).toBe(4);
	});

	it("D50: a canary of whose jobs half fail is undone, also with a kill -9 in the middle, and every job ends once", {
		timeout: 90_000,
	}, async (test: TestContext) => {
		const { place, ...first } = await managed(test);
		let { service } = first;
		const canary = { percent: 50, minJobs: 20, maxSlowdown: 0 };
		await made(place, service, { workersMin: 2, workersMax: 2, release: { canary } });
		await released(service, { version: 1, state: "healthy" });
		const stop = submitting(() => service, "ours");
		await patched(service, { env: { FAIL_EACH: "2" } });
		await until("jobs of both", async () => {
			const [canary, stable] = await releases(service);
			return canary.jobs.failed >= 2 && stable.jobs.completed >= 2;
		});
		await service.end("SIGKILL");
		service = await place.serve();
		const { reason } = await released(service, { version: 3, source: "rollback" });
		expect(reason).toMatch(/^Version 2 was rolled back to version 1: its jobs were worse: \d+ of \d+ jobs failed/);
		expect(service.stderr()).toContain(reason);
		await released(service, { version: 3, state: "healthy" });
		for (const id of await stop()) {
			const { status } = await ended(service, "ours", id);
			expect(["COMPLETED", "FAILED"]).toContain(status);
			expect(place.runs(id), id).toHaveLength(1);
		}
		expect((await releases(service)).map(({ version, state }) => [version, state])).toEqual([
			[3, "healthy"],
			[2, "failed"],
			[1, "healthy"],
		]);
	});

	it("D50: a busy worker takes no job any more once one of the new version is healthy, and not before", {
		timeout: 60_000,
	}, async (test: TestContext) => {
		const place = site(test);
		const service = await place.serve({ endpoints: {} });
		await made(place, service);
		const first = await workerOf(service);
		const held = [await run(service, "ours", { until: "allowed" })];
		await until("the first worker to be busy", () => place.runs(held[0]!).length > 0);
		await patched(service, { env: { MODE: "other" } });
		// The new worker holds its first job: the old one stays.
		held.push(await run(service, "ours", { until: "allowed" }));
		await until("the new worker to be busy", () => place.runs(held[1]!).length > 0);
		const workers = async (): Promise<any[]> => (await asked(service, "/workers")).workers;
		expect((await workers()).map(({ release, state }) => [release, state])).toEqual([
			[1, "running"],
			[2, "running"],
		]);
		place.allow("allowed");
		for (const id of held) expect((await ended(service, "ours", id)).status).toBe("COMPLETED");
		await released(service, { version: 2, state: "healthy", workers: 1 });
		await until("the first worker to go", () =>
			place.notes().some(({ what, worker }) => what === "down" && worker === first),
		);
		expect(await workerOf(service)).not.toBe(first);
	});

	it("D50: the command line lists, compares and rolls back; scaling and the same settings make no version", {
		timeout: 60_000,
	}, async (test: TestContext) => {
		const { place, service, stdoutOf, ask } = await managed(test);
		await made(place, service, { env: { DIARY: "x", TOKEN: "a secret value" } });
		await workerOf(service);
		const failing = await run(service, "ours", { fail: "no" });
		await ended(service, "ours", failing);
		await patched(service, { workersMax: 3, idleTimeout: 9, env: { TOKEN: "a secret value" } });
		await patched(service, {
			env: { TOKEN: "another secret value", MODE: "x" },
			launcher: { command: [...WORKER, "x"] },
		});
		const listed = await stdoutOf("releases", "list", "ours");
		expect(listed).toMatch(/\n2 +(unproven|healthy) .*env\.MODE, env\.TOKEN, launcher\.command\n1 /);
		expect(listed).toMatch(/\n1 +healthy +\d+ +2 +50\.0 % +\d+ms /);
		expect(listed).toMatch(/\n2 .* 0 +- +- /);
		expect(await stdoutOf("jobs", "get", "ours", failing)).toMatch(/\nRelease +1\n/);
		const compared = await stdoutOf("releases", "diff", "ours");
		expect(compared).toMatch(/env\.TOKEN +"\(set\)" +"\(changed\)"/);
		expect(compared).not.toContain("secret value");
		expect(await stdoutOf("releases", "rollback", "ours", "1", "--yes")).toContain("is at version 3");
		expect((await asked(service, "")).env).toEqual(["DIARY", "TOKEN"]);
		expect((await asked(service, "")).workersMax).toBe(3);
		expect((await ask("releases", "rollback", "ours", "9", "--yes")).stderr).toContain("has no version '9'");
	});
});
