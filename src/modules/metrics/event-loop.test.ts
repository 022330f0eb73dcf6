/** The delay of the event loop, measured while several programs read it. */
import { expect, it } from "vitest";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { until } from "../../../test/support/until.ts";
import { eventLoopDelay } from "./event-loop.ts";

it("D40: a delay is seen by each reader, and no more after two minutes", async () => {
	const clock = manualClock();
	const delay = eventLoopDelay(clock);
	const longest = (): number => delay()?.max ?? 0;
	await until("a first sample", delay);
	for (const end = performance.now() + 300; performance.now() < end; );
	await until("the sample of the delay", () => longest() > 0.2);
	expect(longest(), "read before").toBeGreaterThan(0.2);
	await clock.advance(60_000);
	expect(longest(), "read a minute later").toBeGreaterThan(0.2);
	await clock.advance(60_000);
	expect(longest()).toBeLessThan(0.2);
});
