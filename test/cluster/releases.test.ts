/** A release whose workers crash, at two servers: the one that scales is killed, the other undoes it (D50). */
import { afterEach, expect, it } from "vitest";
import { join } from "node:path";
import type { Worker } from "../../src/kernel/engine/workers/worker-registry.ts";
import { WORKER } from "../e2e/site.ts";
import { statusOf, submit } from "../support/sdk-worker-bench.ts";
import { servers, type Servers } from "../support/servers.ts";
import { call } from "../support/service.ts";
import { untilFits } from "../support/until.ts";

let group: Servers | undefined;
afterEach(() => group?.end());

const CRASHES = [process.execPath, "-e", "process.exit(3)"];

it("D28, D50: kill -9 of the server that scales in the middle: the other one undoes it, once, and no job is lost", {
	timeout: 120_000,
}, async () => {
	group = await servers();
	const a = await group.spawn({ endpoints: {} });
	const env = { DIARY: join(a.folder.path, "diary") };
	const launcher = { type: "process", command: WORKER, cwd: "/" };
	const body = { id: "ours", launcher, env, workersMin: 1, workersMax: 2 };
	expect((await call(a.url, "/v1/endpoints", { body })).status).toBe(201);
	const b = await group.spawn({ endpoints: {} });
	const releasesAt = async (url: string): Promise<any[]> =>
		(await call(url, "/v1/endpoints/ours/releases")).json.releases;
	await untilFits(
		() => releasesAt(b.url),
		([newest]) => newest.state === "healthy",
	);
	// The server that does not scale takes the change.
	await call(b.url, "/v1/endpoints/ours", { method: "PATCH", body: { launcher: { command: CRASHES } } });
	const ids = [await submit(b.url, { input: {} }, "ours"), await submit(b.url, { input: {} }, "ours")];
	await untilFits(
		() => releasesAt(b.url),
		([newest]) => newest.failures > 0,
	);
	await a.end("SIGKILL");
	for (let n = 0; n < 3; n += 1) ids.push(await submit(b.url, { input: {} }, "ours"));
	const releases = await untilFits(
		() => releasesAt(b.url),
		([newest]) => newest.source === "rollback" && newest.state === "healthy",
	);
	expect(releases.map(({ version, state }) => [version, state])).toEqual([
		[3, "healthy"],
		[2, "failed"],
		[1, "healthy"],
	]);
	for (const id of ids)
		await untilFits(
			() => statusOf(b.url, id, "ours"),
			({ status }) => status === "COMPLETED",
		);
});

it("D50: kill -9 of the server that scales during a canary: the other one compares on, and undoes it", {
	timeout: 180_000,
}, async () => {
	group = await servers();
	const a = await group.spawn({ endpoints: {} });
	const env = { DIARY: join(a.folder.path, "diary") };
	const launcher = { type: "process", command: WORKER, cwd: "/" };
	const release = { canary: { percent: 50, minJobs: 20, maxSlowdown: 0 } };
	const body = { id: "ours", launcher, env, workersMin: 2, workersMax: 2, release };
	expect((await call(a.url, "/v1/endpoints", { body })).status).toBe(201);
	const b = await group.spawn({ endpoints: {} });
	const at = async (url: string): Promise<any> => (await call(url, "/v1/endpoints/ours/releases")).json;
	await untilFits(
		() => at(b.url),
		({ releases: [newest] }) => newest.state === "healthy",
	);
	const ids: string[] = [];
	/** Of the last minute each server knows the jobs that ended at it: those of its workers. */
	const work = async (url: string): Promise<any> => {
		const id = await submit(b.url, { input: { ms: 20 } }, "ours");
		ids.push(id);
		await untilFits(
			() => statusOf(b.url, id, "ours"),
			({ status }) => ["COMPLETED", "FAILED"].includes(status),
		);
		return await at(url);
	};
	await call(b.url, "/v1/endpoints/ours", { method: "PATCH", body: { env: { FAIL_EACH: "2" } } });
	await untilFits(
		() => work(a.url),
		({ releases: [canary, stable] }) => canary.jobs.failed > 0 && stable.jobs.completed > 0,
	);
	await a.end("SIGKILL");
	const { releases } = await untilFits(
		() => work(b.url),
		({ releases: [newest] }) => newest.source === "rollback",
	);
	expect(releases[0].reason).toMatch(/^Version 2 was rolled back to version 1: its jobs were worse/);
	expect(releases[1].state).toBe("failed");
	for (const id of ids) expect(["COMPLETED", "FAILED"]).toContain((await statusOf(b.url, id, "ours")).status);
});

it("D50: a job waits for no worker of the stable version that only pings this server, which launched none", {
	timeout: 60_000,
}, async () => {
	group = await servers();
	const a = await group.start({});
	const launcher = { type: "process", command: ["sleep", "600"] };
	const release = { canary: { percent: 10, minJobs: 1000 } };
	const body = { id: "ours", launcher, workersMin: 2, workersMax: 2, stopGraceMs: 0, release };
	expect((await call(a.url, "/v1/endpoints", { body })).status).toBe(201);
	const b = await group.start({});
	const versionOf = ({ launchedAs }: Worker): number => a.engine.endpoints.releaseOf("ours", launchedAs)!;
	const callingA = (): Worker[] => {
		const workers = [...a.engine.workers.registry.of("ours")].filter(({ draining }) => !draining);
		for (const worker of workers) a.engine.workers.recordCall(worker);
		return workers.toSorted((one, other) => versionOf(one) - versionOf(other));
	};
	await untilFits(
		() => (callingA(), call(a.url, "/v1/endpoints/ours/releases")),
		({ json }) => json.releases[0].state === "healthy",
	);
	await call(a.url, "/v1/endpoints/ours", { method: "PATCH", body: { env: { MODE: "new" } } });
	const [stable, fresh] = await untilFits(callingA, (workers) => String(workers.map(versionOf)) === "1,2");
	const take = async (at: typeof a, worker: Worker): Promise<string | undefined> => {
		const { signal } = new AbortController();
		const [job] = await at.engine.jobs.take({ worker, limit: 1, idle: false, signal });
		return job?.id;
	};
	const long = await submit(a.url, { input: {} }, "ours");
	expect(await take(a, stable!)).toBe(long);
	const [canary] = [fresh!, stable!].map(({ id, endpoint, launchedAs }) =>
		b.engine.workers.recordCall({ id, endpoint, launchedAs }),
	);
	const first = await submit(b.url, { input: {} }, "ours");
	expect(await take(b, canary!)).toBe(first);
	await b.engine.jobs.report({
		worker: canary!,
		id: first,
		report: { kind: "end", on: "complete", restart: false },
	});
	const second = await submit(b.url, { input: {} }, "ours");
	expect(await take(b, canary!)).toBe(second);
});
