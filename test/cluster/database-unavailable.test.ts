/**
 * PostgreSQL ends under three servers with load on them, and starts again: nothing is lost, and
 * everything continues (D16, D17, D40).
 */
import { expect, it } from "vitest";
import { site } from "../e2e/site.ts";
import { until } from "../support/until.ts";
import { balancer } from "../support/balancer.ts";
import { startPostgres } from "../support/postgres-server.ts";
import { sdkProtocol } from "../support/sdk-protocol.ts";
import { idsOf, movedEnv, statusOf, submit, workerEnvOf } from "../support/sdk-worker-bench.ts";
import { servers } from "../support/servers.ts";
import { call } from "../support/service.ts";
import { allEndedOnce, traffic } from "../support/traffic.ts";

/** By when a client learns that the store is unavailable, and what a busy machine may add, ms. */
const TOLD_MS = 2000;
const BUSY_MS = 1000;

it("D16, D17, D40: stopped or killed: errors within 2 s, workers' calls are held, each job ends once", {
	timeout: 120_000,
}, async (test) => {
	const database = await startPostgres();
	test.onTestFinished(() => database.remove());
	const group = await servers(database);
	test.onTestFinished(() => group.end());
	const place = site(test);
	const settings = { launcher: { type: "external" }, leaseMs: 5000, limits: "off" };
	const endpoints = { ep: settings, quiet: { ...settings, leaseMs: 20_000 } };
	const live = await Promise.all([group.spawn({ endpoints }), group.spawn({ endpoints }), group.spawn({ endpoints })]);
	const urls = live.map(({ url }) => url);
	const front = await balancer(urls);
	test.onTestFinished(() => front.close());
	for (let workers = 0; workers < 2; workers += 1) await place.attach(front, "ep", { CONCURRENCY: "4" });
	const env = await workerEnvOf(urls[0]!, "quiet");
	const quiet = urls.map((url) => sdkProtocol(movedEnv(env, url)));
	test.onTestFinished(() => quiet.forEach((each) => each.close()));
	const load = traffic({ urls, endpoints: ["ep"], clients: 6 });

	for (const end of ["stop", "kill"] as const) {
		await load.more(50);
		// One worker that has a job and waits for another one, at two servers.
		const had = await submit(urls[0]!, { input: {} }, "quiet");
		expect(idsOf(await quiet[0]!.take())).toEqual([had]);
		const poll = quiet[1]!.take({ busy: true });
		await until("the poll", async () => (await call(urls[1]!, "/v2/quiet/health")).json.workers.running === 1);
		await database[end]();
		const stoppedAt = performance.now();
		const post = quiet[2]!.done(had, { output: "held" });
		for (const held of [poll, post]) held.catch(() => {});
		const asks = urls.flatMap((url) => [
			() => call(url, "/v2/ep/run", { body: { input: {} } }),
			() => call(url, `/v2/quiet/status/${had}`),
		]);
		const times: number[] = [];
		while (performance.now() - stoppedAt < TOLD_MS) {
			await Promise.all(
				asks.map(async (ask) => {
					const began = performance.now();
					const { status, headers, text } = await ask();
					times.push(performance.now() - began);
					expect([status, headers.get("retry-after")], text).toEqual([503, "2"]);
				}),
			);
		}
		for (const url of urls) expect((await call(url, "/readyz", { key: null })).status).toBe(503);
		for (const { at, ms, status, retryAfter, why } of load.failures)
			if (at - ms > stoppedAt) expect([status, retryAfter], why).toEqual([503, "2"]);
		const slowest = Math.max(...times);
		expect(slowest).toBeLessThan(TOLD_MS + BUSY_MS);
		await database.start();
		const back = performance.now();
		await load.more(1);
		const again = performance.now() - back;
		expect((await post).status).toBe(200);
		expect(await statusOf(urls[1]!, had, "quiet")).toMatchObject({
			status: "COMPLETED",
			output: "held",
		});
		const next = await submit(urls[2]!, { input: {} }, "quiet");
		expect(idsOf(await poll)).toEqual([next]);
		await quiet[0]!.done(next, { output: 1 });
		await load.more(30);
		for (const url of urls)
			await until("readiness", async () => (await call(url, "/readyz", { key: null })).status === 200);
		process.stdout.write(
			`${end}: ${times.length} requests refused, after at most ${slowest.toFixed(0)} ms; ` +
				`jobs end again ${again.toFixed(0)} ms after it accepts connections\n`,
		);
	}
	await load.end();

	for (const { json } of await Promise.all(urls.map((url) => call(url, "/v2/quiet/health"))))
		expect(json.jobs).toMatchObject({ completed: 4, inProgress: 0, inQueue: 0, failed: 0 });
	const again = await allEndedOnce({ load, urls, store: group.store });
	process.stdout.write(`${load.acknowledged.size} jobs, ${again} attempts before the last one\n`);
});
