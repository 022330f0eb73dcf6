/** Reads at the cursor while the store comes and goes (D7 Delivery). */
import { expect, it } from "vitest";
import { manualClock } from "../../../../../test/support/manual-clock.ts";
import { backgroundTasks } from "../../../system/loop.ts";
import { StoreUnavailable } from "../../../store/contract/store.ts";
import type { ChunkStore } from "../../../store/contract/jobs.ts";
import { streamNext } from "./stream.ts";
import { CompletionWaiters } from "../wait.ts";

const PAUSE_MS = 500;

/** A stream with one chunk; `reserve` and `deliver` fail so often. */
function stream(fail: { reserve?: number; deliver?: number; unsure?: boolean }) {
	const clock = manualClock();
	const ended: boolean[] = [];
	const left = { reserve: 0, deliver: 0, ...fail };
	function failing(name: "reserve" | "deliver"): void {
		if ((left[name] -= 1) >= 0)
			throw new StoreUnavailable("unreachable", "It is not there.", {
				unsure: fail.unsure ?? false,
			});
	}
	const chunks: Pick<ChunkStore, "reserve" | "deliver"> = {
		async reserve() {
			failing("reserve");
			return { state: "IN_PROGRESS", from: 0, next: 1, chunks: ["1"], more: false };
		},
		async deliver({ delivered }) {
			failing("deliver");
			ended.push(delivered);
		},
	};
	const faults: unknown[] = [];
	const background = backgroundTasks((_, error) => faults.push(error));
	const deps = {
		clock,
		now: clock.now,
		store: { chunks },
		random: (bytes: number) => Buffer.alloc(bytes),
		waiters: new CompletionWaiters(clock),
		background,
	} as unknown as Parameters<typeof streamNext>[0];
	const read = () =>
		streamNext(deps, {
			endpoint: "e",
			id: "01990000-0000-7000-8000-000000000000",
			waitMs: 0,
			caller: { disconnected: false },
			bounded: (inner) => inner(1000),
		});
	return { clock, ended, faults, background, read };
}

it("D7: chunks that were delivered while the store failed count as delivered once it is back", async () => {
	const { clock, ended, read } = stream({ deliver: 3 });
	const { delivered } = await read();
	const over = delivered!(true);
	for (let n = 0; n < 3; n += 1) {
		await clock.advance(0);
		expect(ended).toEqual([]);
		await clock.advance(PAUSE_MS);
	}
	await over;
	expect(ended).toEqual([true]);
});

it("D7: a reservation without an answer is freed once the store is back", async () => {
	const { clock, ended, faults, read } = stream({ reserve: 1, deliver: 2, unsure: true });
	await expect(read()).rejects.toBeInstanceOf(StoreUnavailable);
	for (let n = 0; n < 2; n += 1) await clock.advance(PAUSE_MS);
	expect(ended).toEqual([false]);
	expect(faults).toEqual([]);
});

it("D7: one that was not made needs no end", async () => {
	const { clock, ended, read } = stream({ reserve: 1 });
	await expect(read()).rejects.toBeInstanceOf(StoreUnavailable);
	await clock.advance(PAUSE_MS);
	expect(ended).toEqual([]);
});

it("D34: a stop does not wait for an unavailable store", async () => {
	const { clock, faults, background, read } = stream({ reserve: 1, deliver: 9, unsure: true });
	await expect(read()).rejects.toBeInstanceOf(StoreUnavailable);
	await clock.advance(0);
	await background.stop();
	expect(faults).toHaveLength(1);
});
