/**
 * `kill -9` of servers under load, one after the other: nothing acknowledged is lost, and nothing
 * ends twice (D16, D17, D28, D34).
 */
import { expect, it } from "vitest";
import { isAlive, site } from "../e2e/site.ts";
import { until } from "../support/until.ts";
import { balancer } from "../support/balancer.ts";
import { freePort } from "../support/free-port.ts";
import { servers } from "../support/servers.ts";
import { call } from "../support/service.ts";
import { allEndedOnce, traffic } from "../support/traffic.ts";

/** From the death of a server until others lead what it led, ms. */
const TAKEN_MS = 10_000;

const SERVERS = 3;

/** Each time the one that sweeps. */
const KILLS = 2;

it("D16, D17, D28, D34: no acknowledged job is lost, each ends once, what the dead one led is another's within 10 s", {
	timeout: 120_000,
}, async (test) => {
	const group = await servers();
	test.onTestFinished(() => group.end());
	const place = site(test);
	const settings = { leaseMs: 5000, limits: "off" };
	const endpoints = {
		theirs: { launcher: { type: "external" }, ...settings },
		ours: place.launched({ workersMin: 1, workersMax: 1, ...settings }),
		too: place.launched({ workersMin: 1, workersMax: 1, ...settings }),
	};
	const live = await Promise.all(
		Array.from({ length: SERVERS }, async () => await group.spawn({ endpoints, port: await freePort() })),
	);
	const urls = live.map(({ url }) => url);
	const front = await balancer(urls);
	test.onTestFinished(() => front.close());
	for (let workers = 0; workers < 2; workers += 1) await place.attach(front, "theirs", { CONCURRENCY: "4" });
	/** What these servers lead, each by its own word. */
	const ledBy = async (servers: readonly { url: string }[]): Promise<string[]> =>
		(
			await Promise.all(
				servers.map(
					async ({ url }) =>
						(await call(url, "/v1/servers")).json.servers.find(({ self }: { self: boolean }) => self)?.leads ?? [],
				),
			)
		).flat();
	await until("all to be led", async () => (await ledBy(live)).length === 5);
	const load = traffic({ urls, endpoints: Object.keys(endpoints), clients: 6 });
	const takeovers: string[] = [];

	for (let kills = 0; kills < KILLS; kills += 1) {
		await load.more(30);
		const sweeps = await Promise.all(live.map(async (each) => (await ledBy([each])).includes("sweep")));
		const index = sweeps.indexOf(true);
		const victim = live[index]!;
		const others = live.filter((each) => each !== victim);
		const before = await ledBy([victim]);
		const killed = performance.now();
		await victim.end("SIGKILL");
		await until(`${before.join(", ")} to be led by others`, async () => {
			const led = await ledBy(others);
			return before.every((name) => led.includes(name));
		});
		const ms = performance.now() - killed;
		takeovers.push(`${(ms / 1000).toFixed(1)} s (${before.join(", ")})`);
		expect(ms).toBeLessThan(TAKEN_MS);
		for (const name of before.filter((each) => each.startsWith("scale:"))) {
			const path = `/v1/endpoints/${name.slice("scale:".length)}/workers`;
			await until(`a worker of ${name}`, async () => (await call(others[0]!.url, path)).json.workers.length === 1);
		}
		await load.more(25);
		live[index] = await group.spawn({
			endpoints,
			in: victim.folder,
			port: Number(new URL(victim.url).port),
		});
	}
	await load.more(25);
	await load.end();

	const again = await allEndedOnce({ load, urls, store: group.store });
	const living = (): Set<number> =>
		new Set(
			place
				.notes()
				.filter(({ what, pid }) => what === "up" && isAlive(pid))
				.map(({ pid }) => pid),
		);
	// The worker of an endpoint that has just moved may still be ending.
	await until("two of ours to live beside those that call any server", () => living().size === 4);
	process.stdout.write(
		`taken over after ${takeovers.join(", ")}; ${load.acknowledged.size} jobs, ${load.failures.length} ` +
			`failed requests of clients, ${front.failed.length} of workers, ${again} attempts ` +
			"before the last one\n",
	);
});
