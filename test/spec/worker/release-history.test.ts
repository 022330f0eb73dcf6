/** Which changes are releases, what is kept of them, and how a rollback brings one back (D50). */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { KEPT_RELEASES } from "../../../src/kernel/core/releases/history.ts";
import type { Worker } from "../../../src/kernel/engine/workers/worker-registry.ts";
import { call, KEY } from "../../support/service.ts";
import { submitted } from "../hand-worker.ts";
import { ALL_VERSIONS, releaseService } from "./release-service.ts";

const { pass, passUntil, of, takes, works, at, serve, change, callOf, staying, versions, states, ready, rollBack } =
	releaseService();

describe("releases of an endpoint", () => {
	it("D50: scaling and the same settings make none; a rollback is one, with settings and values", async () => {
		await serve({ env: { TOKEN: "one" } });
		await change({ workersMax: 7, env: { TOKEN: "one" } });
		expect(await states()).toEqual([[1, "unproven"]]);
		await change({ env: { TOKEN: "two" } });
		await rollBack(1);
		expect(at.service.engine.endpoints.get("ep")).toMatchObject({ workersMax: 7, env: { TOKEN: "one" } });
		const [newest] = (await at.service.engine.releases.history("ep", ALL_VERSIONS)).releases;
		expect(newest).toMatchObject({ version: 3, source: "rollback", createdBy: "key" });
		await rollBack(3);
		expect(await states()).toHaveLength(3);
	});

	it("D50: an endpoint that an earlier version stored is version 1, and can come back", async () => {
		await serve({ env: { TOKEN: "one" } });
		await at.service.end();
		const db = new DatabaseSync(join(at.place.path, "sluice.db"));
		db.exec("DELETE FROM releases");
		db.close();
		await serve({ env: { TOKEN: "one" } });
		expect(await states()).toEqual([[1, "healthy"]]);
		await change({ env: { TOKEN: "two" } });
		expect(await states()).toEqual([
			[2, "unproven"],
			[1, "healthy"],
		]);
		await rollBack(1);
		expect(at.service.engine.endpoints.get("ep").env).toEqual({ TOKEN: "one" });
	});

	it("D2, D50: one that is not kept is 404, and one whose values cannot be read is 409", async () => {
		await serve({ env: { TOKEN: "one" } });
		const rollBackOf = (version: string) =>
			call(at.service.url, `/v1/endpoints/ep/releases/${version}/rollback`, { method: "POST" });
		for (const version of ["9", "0", "x"])
			expect(await rollBackOf(version)).toMatchObject({ status: 404, json: { code: "release_not_found" } });
		const { versions: stored } = at.service.engine.endpoints;
		const { settingsOf } = stored;
		stored.settingsOf = async () => ({ settings: {}, unreadable: ["TOKEN"] });
		try {
			const { status, json } = await rollBackOf("1");
			expect([status, json.code]).toEqual([409, "release_refused"]);
			expect(json.error).toContain("env TOKEN of version 1");
		} finally {
			stored.settingsOf = settingsOf;
		}
	});

	it("D50: 100 are kept, and those that workers run", async () => {
		await serve({ workersMin: 1, workersMax: 1, scalerType: "REQUEST_COUNT" });
		const [busy] = await ready(1);
		await submitted(at.service, "ep");
		await takes(busy!);
		await change({ env: { N: "" } });
		callOf((await staying(2))[1]!);
		await passUntil(() => busy!.draining);
		for (let n = 0; n <= KEPT_RELEASES; n += 1) await change({ env: { N: String(n) } });
		const kept = await states();
		const running = versions(of("ep"));
		expect(running).toContain(1);
		// Version 2 is what a rollback would return to; a worker may have started in the middle.
		const older = kept.map(([version]) => version).filter((version) => version <= 3);
		expect(older).toEqual([3, 2, 1].filter((version) => version === 2 || running.includes(version)));
	});

	it("D49, D50: RunPod's list of them has its members, and pages", async () => {
		await serve({ workersMin: 1, env: { TOKEN: "one" } });
		await ready(1);
		await change({ env: { TOKEN: "a secret value" } });
		const path = "/v2/serverless/ep/releases";
		const { json, text } = await call(at.service.url, `${path}?limit=1`);
		expect(text).not.toContain("a secret value");
		expect(json.releases[0]).not.toHaveProperty("jobs");
		expect(json).toMatchObject({
			endpointVersion: 2,
			rollout: { inProgress: true },
			releases: [
				{
					id: "ep-2",
					version: 2,
					source: "MANUAL",
					buildId: null,
					diff: [{ field: "template.env.TOKEN", old: "(set)", new: "(changed)" }],
				},
			],
			pagination: { hasNextPage: true },
		});
		const next = await call(at.service.url, `${path}?limit=1&cursor=${json.pagination.nextCursor}`);
		expect(next.json).toMatchObject({ releases: [{ version: 1, diff: [] }], pagination: { hasNextPage: false } });
		expect((await call(at.service.url, `${path}?cursor=x`)).status).toBe(422);
		expect((await call(at.service.url, "/v2/serverless/none/releases")).status).toBe(404);
	});
});

describe("jobs of a release", () => {
	async function answered(path: string): Promise<any> {
		const { status, json, text } = await call(at.service.url, path);
		expect(status, text).toBe(200);
		return json;
	}

	const fails = (worker: Worker, id: string): Promise<unknown> =>
		at.service.engine.jobs.report({ worker, id, report: { kind: "end", on: "fail", restart: false } });

	it("D40, D50: job records, the list of releases and /metrics have them by the version that ran them", async () => {
		await serve({ workersMin: 1, workersMax: 1, scalerType: "REQUEST_COUNT" });
		const [first] = await ready(1);
		const ids = [];
		for (let n = 0; n < 4; n += 1) ids.push(await submitted(at.service, "ep", { input: {} }));
		await works(first!);
		const failing = await takes(first!);
		await pass(1000);
		await fails(first!, failing);
		await change({ env: { N: "2" } });
		const [, second] = await staying(2);
		await works(second!);
		const policy = { executionTimeout: 6000 };
		ids.push(await submitted(at.service, "ep", { input: {}, policy }));
		await works(second!);
		await takes(second!);
		await pass(8000);
		const listed = await answered("/v1/endpoints/ep/jobs");
		expect(listed.jobs.map(({ release }: any) => release).toSorted()).toEqual([1, 1, 2, 2, 2]);
		expect((await answered(`/v1/endpoints/ep/jobs/${ids.at(-1)!}`)).release).toBe(2);
		expect(await answered(`/v2/ep/status/${ids.at(-1)!}`)).not.toHaveProperty("release");
		const { releases } = await answered("/v1/endpoints/ep/releases");
		expect(releases.map(({ jobs }: any) => jobs)).toMatchObject([
			{ completed: 2, failed: 1, executionMs: { p99: expect.any(Number) } },
			{ completed: 1, failed: 1 },
		]);
		expect(Math.abs(releases[1].jobs.executionMs.p99 - 1000)).toBeLessThan(50);
		await change({ env: { N: "3" } });
		expect((await answered("/v1/endpoints/ep/releases")).releases[0].jobs).toEqual({
			completed: 0,
			failed: 0,
			executionMs: { p50: null, p95: null, p99: null },
		});
		const third = (): Worker | undefined => of("ep").find((worker) => versions([worker])[0] === 3);
		await passUntil(() => third() !== undefined);
		await submitted(at.service, "ep");
		await works(third()!);
		const metrics = await fetch(`${at.service.url}/metrics`, { headers: { authorization: `Bearer ${KEY}` } });
		const lines = (await metrics.text())
			.split("\n")
			.filter((line) => /^sluice_release_(jobs|execution_seconds_count)/.test(line));
		expect(lines).toEqual([
			'sluice_release_jobs_ended_total{endpoint="ep",release="3",outcome="completed"} 1',
			'sluice_release_jobs_ended_total{endpoint="ep",release="3",outcome="failed"} 0',
			'sluice_release_jobs_ended_total{endpoint="ep",release="2",outcome="completed"} 2',
			'sluice_release_jobs_ended_total{endpoint="ep",release="2",outcome="failed"} 1',
			'sluice_release_execution_seconds_count{endpoint="ep",release="3"} 1',
			'sluice_release_execution_seconds_count{endpoint="ep",release="2"} 2',
		]);
	});
});
