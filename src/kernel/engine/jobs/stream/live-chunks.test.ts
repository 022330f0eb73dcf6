/** Chunks that reach readers without a read of the store: each once, in order, none lost (D7). */
import { describe, expect, it } from "vitest";
import { manualClock } from "../../../../../test/support/manual-clock.ts";
import type { Store } from "../../../store/contract/store.ts";
import type { ChunkRead } from "../../../store/contract/jobs.ts";
import { follow } from "./live-chunks.ts";
import { streamFrom } from "./stream.ts";
import { CompletionWaiters } from "../wait.ts";

/** Chunks in one read. */
const MOST = 3;

const job = { endpoint: "ep", id: "11111111-1111-4111-8111-111111111111-u1" };

/** A job of one attempt, its stored chunks, and a reader that is given a `follower`. */
function sample() {
	const clock = manualClock();
	const waiters = new CompletionWaiters(clock);
	const stored: string[] = [];
	let state: ChunkRead["state"] = "IN_PROGRESS";
	let reads = 0;
	const read = async (q: { from: number; maxBytes: number }): Promise<ChunkRead> => {
		reads += 1;
		const { from } = q;
		const chunks = stored.slice(from, from + q.maxBytes);
		const next = from + chunks.length;
		const found = { state, from, next, chunks, more: next < stored.length };
		await Promise.resolve();
		return found;
	};
	const store = { chunks: { read } } as unknown as Store;
	const follower = follow(waiters, job);
	const d = { store, clock, now: () => clock.now(), waiters };
	const caller = { disconnected: false };
	return {
		clock,
		waiters,
		follower,
		reads: () => reads,
		/** Stores chunks; `heard`: what this server hears of it. */
		add(chunks: string[], heard: "part" | "signal" | "nothing" = "part", attempt = 1) {
			const from = stored.length;
			stored.push(...chunks);
			if (heard === "part") waiters.notify(job.id, { from, chunks, attempt });
			if (heard === "signal") waiters.notify(job.id);
		},
		end() {
			state = "COMPLETED";
			waiters.notify(job.id);
		},
		next: (from: number, waitMs = 1000) =>
			streamFrom(d, { ...job, from, waitMs, caller, bounded: (each) => each(MOST), follower }),
	};
}

describe("a reader that follows", () => {
	it("reads the store once and then gets what is posted here", async () => {
		const stream = sample();
		stream.add(["0"], "nothing");
		expect(await stream.next(0)).toMatchObject({ chunks: ["0"], next: 1 });
		for (let at = 1; at < 5; at += 1) {
			const part = stream.next(at);
			stream.add([`${at}`]);
			expect(await part).toEqual({
				chunks: [`${at}`],
				next: at + 1,
				state: "IN_PROGRESS",
				attempt: 1,
			});
		}
		expect(stream.reads()).toBe(1);
	});

	it("gets together what came while it was busy, up to another attempt", async () => {
		const stream = sample();
		stream.add(["0"]);
		stream.add(["1", "2"]);
		stream.add(["3"], "part", 2);
		expect(await stream.next(0)).toMatchObject({ chunks: ["0", "1", "2"], attempt: 1 });
		expect(await stream.next(3)).toMatchObject({ chunks: ["3"], attempt: 2 });
		expect(stream.reads()).toBe(0);
	});

	it("reads on where the store had more than fits one answer, and again from where it goes back", async () => {
		const stream = sample();
		for (const chunk of ["0", "1", "2", "3", "4"]) stream.add([chunk], "nothing");
		expect(await stream.next(0)).toMatchObject({ chunks: ["0", "1", "2"], next: 3 });
		expect(await stream.next(3)).toMatchObject({ chunks: ["3", "4"], next: 5 });
		expect(await stream.next(3)).toMatchObject({ chunks: ["3", "4"], next: 5 });
	});

	it("reads the store where a part is missing, and has none twice", async () => {
		const stream = sample();
		stream.add(["0"]);
		stream.add(["1"], "nothing");
		stream.add(["2"]);
		expect((await stream.next(0)).chunks).toEqual(["0"]);
		expect(await stream.next(1)).toMatchObject({ chunks: ["1", "2"], next: 3 });
		const part = stream.next(3);
		stream.add(["3"]);
		expect((await part).chunks).toEqual(["3"]);
	});

	it("reads the store at other news, and when its wait is over", async () => {
		const stream = sample();
		stream.add(["0"]);
		await stream.next(0);
		const elsewhere = stream.next(1);
		stream.add(["1"], "signal");
		expect(await elsewhere).toMatchObject({ chunks: ["1"], next: 2 });
		const lost = stream.next(2, 1000);
		stream.add(["2"], "nothing");
		await stream.clock.advance(1000);
		expect(await lost).toMatchObject({ chunks: ["2"], next: 3 });
		const end = stream.next(3);
		stream.end();
		expect(await end).toMatchObject({ chunks: [], state: "COMPLETED" });
	});

	it("sees an end that came while it was busy", async () => {
		const stream = sample();
		stream.add(["0"]);
		stream.end();
		expect((await stream.next(0)).chunks).toEqual(["0"]);
		for (const _ of [1, 2]) expect(await stream.next(1)).toMatchObject({ chunks: [], state: "COMPLETED" });
	});

	it("keeps little for a reader that is slow, who reads the rest from the store", async () => {
		const stream = sample();
		const large = Array.from({ length: 5 }, (_, at) => String(at).repeat(30_000));
		for (const chunk of large) stream.add([chunk]);
		const got: string[] = [];
		while (got.length < large.length) got.push(...(await stream.next(got.length)).chunks);
		expect(got).toEqual(large);
		expect(stream.reads()).toBeGreaterThan(0);
	});

	it("hears nothing after it closed", () => {
		const stream = sample();
		stream.follower.close();
		stream.add(["0"]);
		expect(stream.follower.take(0)).toBeUndefined();
	});
});
