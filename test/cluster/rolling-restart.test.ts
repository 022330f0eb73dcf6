/**
 * Servers behind a balancer are stopped and started again one after the other, under load: no client
 * is refused (D16, D34).
 */
import { expect, it } from "vitest";
import { site } from "../e2e/site.ts";
import { until } from "../support/until.ts";
import { balancer } from "../support/balancer.ts";
import { freePort } from "../support/free-port.ts";
import { servers } from "../support/servers.ts";
import { allEndedOnce, traffic } from "../support/traffic.ts";

it("D16, D34: a restart of all three by SIGTERM, one by one, loses no job, runs none twice, and fails no request", {
	timeout: 120_000,
}, async (test) => {
	const group = await servers();
	test.onTestFinished(() => group.end());
	const place = site(test);
	const settings = { leaseMs: 5000, limits: "off" };
	const endpoints = {
		theirs: { launcher: { type: "external" }, ...settings },
		ours: place.launched({ workersMin: 1, workersMax: 1, ...settings }),
	};
	const live = await Promise.all(
		Array.from({ length: 3 }, async () => await group.spawn({ endpoints, port: await freePort(), drainSeconds: 20 })),
	);
	const front = await balancer(live.map(({ url }) => url));
	test.onTestFinished(() => front.close());
	for (let workers = 0; workers < 2; workers += 1) await place.attach(front, "theirs", { CONCURRENCY: "4" });
	const load = traffic({ urls: [front.url], endpoints: Object.keys(endpoints), clients: 6 });
	const took: string[] = [];
	for (const [index, each] of live.entries()) {
		await load.more(30);
		const began = performance.now();
		expect(await each.end("SIGTERM")).toBe(0);
		took.push(`${((performance.now() - began) / 1000).toFixed(1)} s`);
		await load.more(10);
		live[index] = await group.spawn({
			endpoints,
			in: each.folder,
			port: Number(new URL(each.url).port),
			drainSeconds: 20,
		});
		await until("the balancer to know it", () => front.ready.every(Boolean));
	}
	await load.more(15);
	await load.end();
	const again = await allEndedOnce({ load, urls: live.map(({ url }) => url), store: group.store });
	const runs = place
		.notes()
		.filter(({ what }) => what === "run")
		.map(({ id }) => id);
	process.stdout.write(
		`stopped in ${took.join(", ")}; ${load.acknowledged.size} jobs, ${again} attempts ` +
			`before the last one; failed requests: ${load.failures.length} of clients, ${front.failed.length} ` +
			"in all\n",
	);
	expect(runs.toSorted()).toEqual([...load.acknowledged.keys()].toSorted());
	expect(front.failed).toEqual([]);
	expect(load.failures).toEqual([]);
});
