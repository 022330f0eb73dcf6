/** Posts that are held: how long, how much, and how they end. */
import { describe, expect, it } from "vitest";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import { eventBus } from "../../events.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import { MAX_HELD_BYTES, type RetryOptions, retryWhileUnavailable } from "./retry-while-unavailable.ts";

const AWAY = new StoreUnavailable("unreachable", "stopped");

/** A hold on a clock of its own, and a step that fails until it is stopped. */
function sample() {
	const clock = manualClock();
	const events = eventBus();
	const refused: number[] = [];
	events.on("posts.refused", ({ heldBytes }) => refused.push(heldBytes));
	const link: { fault: Error | undefined } = { fault: AWAY };
	const seen: RetryOptions[] = [];
	const step = async (again: RetryOptions): Promise<string> => {
		seen.push({ ...again });
		if (link.fault) throw link.fault;
		return "done";
	};
	return {
		clock,
		refused,
		link,
		seen,
		step,
		holding: retryWhileUnavailable({ clock, events, waitUntilBack: clock.sleep }),
	};
}

const faultOf = (held: Promise<unknown>): Promise<unknown> =>
	held.then(
		() => undefined,
		(error: unknown) => error,
	);

describe("D40: a post while the store is unavailable", () => {
	it("is done when it is back, and says that it was held", async () => {
		const { clock, link, seen, step, holding } = sample();
		const held = holding(step);
		await clock.advance(60_000);
		link.fault = undefined;
		await clock.advance(2000);
		expect(await held).toBe("done");
		expect([seen[0], seen.at(-1)]).toEqual([
			{ held: false, unsure: false },
			{ held: true, unsure: false },
		]);
	});

	it("is refused after 120 s, not sooner", async () => {
		const { clock, step, holding } = sample();
		let fault: unknown;
		void faultOf(holding(step)).then((error) => (fault = error));
		await clock.advance(119_000);
		expect(fault).toBeUndefined();
		await clock.advance(3000);
		expect(fault).toBe(AWAY);
	});

	it("says that an earlier try may have been done", async () => {
		const { clock, link, seen, step, holding } = sample();
		link.fault = new StoreUnavailable("unreachable", "lost", { unsure: true });
		const held = holding(step);
		await clock.advance(0);
		link.fault = AWAY;
		await clock.advance(100);
		link.fault = undefined;
		await clock.advance(1000);
		await held;
		expect(seen.map(({ unsure }) => unsure)).toEqual([false, true, true]);
	});

	it("is not held for other faults, by a closed store, or when its worker has left", async () => {
		const { link, step, holding } = sample();
		for (const fault of [new Error("broken"), new StoreUnavailable("closed", "closed")]) {
			link.fault = fault;
			expect(await faultOf(holding(step))).toBe(fault);
		}
		link.fault = AWAY;
		expect(await faultOf(holding(step, { signal: AbortSignal.abort() }))).toBe(AWAY);
	});

	it("is refused at once when too much is held already; reported once, until all have ended", async () => {
		const { clock, refused, link, step, holding } = sample();
		const half = MAX_HELD_BYTES / 2 - 20_000;
		const held = [holding(step, { bytes: half }), holding(step, { bytes: half })];
		await clock.advance(0);
		expect(await faultOf(holding(step, { bytes: 30_000 }))).toBe(AWAY);
		expect(await faultOf(holding(step, { bytes: 30_000 }))).toBe(AWAY);
		expect(refused).toHaveLength(1);
		expect(refused[0]).toBeLessThanOrEqual(MAX_HELD_BYTES);
		link.fault = undefined;
		await clock.advance(2000);
		expect(await Promise.all(held)).toEqual(["done", "done"]);
		link.fault = AWAY;
		const next = holding(step, { bytes: MAX_HELD_BYTES - 20_000 });
		await clock.advance(0);
		expect(await faultOf(holding(step, { bytes: 30_000 }))).toBe(AWAY);
		expect(refused).toHaveLength(2);
		link.fault = undefined;
		await clock.advance(2000);
		await next;
	});

	it("many small ones are bounded too: each counts its connection", async () => {
		const { clock, refused, link, step, holding } = sample();
		const all = Array.from({ length: 20_000 }, () => faultOf(holding(step)));
		await clock.advance(0);
		expect(refused).toHaveLength(1);
		link.fault = undefined;
		await clock.advance(2000);
		const refusals = (await Promise.all(all)).filter((fault) => fault !== undefined);
		expect(20_000 - refusals.length).toBe(Math.floor(MAX_HELD_BYTES / 16_384));
	});
});
