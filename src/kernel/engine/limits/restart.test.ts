/** Limits of one server over its starts: what they admit too much is bounded. */
import { beforeEach, describe, expect, it } from "vitest";
import { asked, burst, LimitServers, rate, request } from "../../../../test/support/limit-servers.ts";
import { manualClock, type ManualClock } from "../../../../test/support/manual-clock.ts";
import { WINDOW_MS } from "../../core/endpoints/rate-window.ts";

let clock: ManualClock;
let group: LimitServers;

beforeEach(() => {
	clock = manualClock();
	group = new LimitServers(clock);
});

describe("a restart", () => {
	it.each(["kill", "stop"] as const)(
		"D24: after %s what was counted still counts, and nothing is in flight",
		async (how) => {
			const q = request({ run: { per10s: 30, concurrent: 5 } });
			let server = await group.single();
			for (let index = 0; index < 5; index += 1) asked(server, q);
			for (let round = 0; round < 3; round += 1) {
				await clock.advance(1000);
				await server[how]();
				server = await group.single();
			}
			expect(asked(server, q).release).toBeDefined();
			expect(burst(server, rate(30), 99)).toBe(24);
			await clock.advance(7000);
			expect(asked(server, rate(30)).quota).toEqual({ limit: 30, remaining: 4, reset: 3 });
		},
	);

	it("D24: a stop stores what was counted right before it", async () => {
		const first = await group.single();
		burst(first, rate(30), 7);
		await first.stop();
		expect(asked(await group.single(), rate(30)).quota?.remaining).toBe(22);
	});

	it("D24: n kills within 10 s admit too much only what was admitted in the second before each", async () => {
		let admitted = 0;
		let server = await group.single();
		for (let round = 0; round < 3; round += 1) {
			for (let second = 0; second < 3; second += 1) {
				admitted += burst(server, rate(30), 6);
				await clock.advance(1000);
			}
			// Not stored any more.
			admitted += burst(server, rate(30), 2);
			await server.kill();
			server = await group.single();
		}
		expect(admitted).toBeGreaterThan(30);
		expect(admitted).toBeLessThanOrEqual(30 + 3 * 2);
	});

	it("D24: rows of starts long ago are removed", async () => {
		const first = await group.single();
		burst(first, rate(5), 1);
		await clock.advance(1000);
		await first.kill();
		await clock.advance(WINDOW_MS);
		await group.single();
		expect(group.rows.size).toBe(0);
	});
});
