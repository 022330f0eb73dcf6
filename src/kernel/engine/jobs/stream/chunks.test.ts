/** Posts of chunks that are repeated while the first one is in progress (D7). */
import { expect, it } from "vitest";
import { eventBus } from "../../../events.ts";
import { workerRegistry } from "../../workers/worker-registry.ts";
import { addChunks } from "./chunks.ts";

const JOB = "0190a0b0-0000-7000-8000-000000000001";

const stored = { ok: true, repeat: false, from: 0, attempt: 1 };

type Deps = Parameters<typeof addChunks>[0];

/** A worker that holds the job, and the appends that the store is to answer. */
function setting() {
	const events = eventBus();
	const worker = workerRegistry(events).meet({ id: "w", endpoint: "e", ready: true, now: 0 });
	worker.held.set(JOB, { attempt: 1, handedAt: 0 });
	const appends: {
		chunks: readonly string[];
		attempt: number | undefined;
		unlessLast: boolean;
		answer: PromiseWithResolvers<object>;
	}[] = [];
	const d = {
		now: () => 1,
		events,
		store: {
			chunks: {
				append({ chunks, attempt, unlessLast }: Omit<(typeof appends)[number], "answer">) {
					const answer = Promise.withResolvers<object>();
					appends.push({ chunks, attempt, unlessLast, answer });
					return answer.promise;
				},
			},
		},
		retry: (operation: (attempt: { held: boolean; unsure: boolean }) => Promise<unknown>) =>
			operation({ held: false, unsure: false }),
		waiters: { notify() {} },
		endpoints: { get: () => ({ limits: "off" }), releaseOf: () => undefined },
		cluster: { others: () => false, shared: false },
	} as unknown as Deps;
	const post = (number: number, text: string, attempt?: number) =>
		addChunks(d, { worker, id: JOB, pieces: [text], number, attempt, count: 1 });
	/** Answers the post, and the store, if it is to store it. Returns what the store got of the post. */
	async function posted(
		number: number,
		text: string,
		q: { attempt?: number; answer?: object; written?: boolean } = {},
	) {
		const before = appends.length;
		const adding = post(number, text, q.attempt);
		let isAdded = false;
		const added = adding.finally(() => (isAdded = true));
		await expect.poll(() => isAdded || appends.length > before).toBe(true);
		appends[before]?.answer.resolve(q.answer ?? stored);
		(await added)(q.written ?? true);
		return appends[before] && { unlessLast: appends[before].unlessLast, attempt: appends[before].attempt };
	}
	const takenAgain = (attempt: number) => worker.held.set(JOB, { attempt, handedAt: 0 });
	return { appends, post, posted, takenAgain };
}

it("D7: a post that is repeated while the first one is in progress is stored once", async () => {
	const { appends, post } = setting();
	const both = [post(0, "a"), post(0, "a")];
	await expect.poll(() => appends.length).toBe(1);
	appends[0]!.answer.resolve(stored);
	await Promise.all(both);
	expect(appends).toHaveLength(1);
	const next = post(1, "b");
	await expect.poll(() => appends.length).toBe(2);
	appends[1]!.answer.resolve(stored);
	await next;
	expect(appends.map(({ chunks }) => chunks)).toEqual([["a"], ["b"]]);
});

it("D7: after an error, the repeat of a post is compared with what is stored", async () => {
	const { appends, post } = setting();
	const first = post(0, "a");
	await expect.poll(() => appends.length).toBe(1);
	appends[0]!.answer.resolve(stored);
	(await first)(true);
	const second = post(1, "b");
	await expect.poll(() => appends.length).toBe(2);
	appends[1]!.answer.reject(new Error("the store does not answer"));
	await expect(second).rejects.toThrow("does not answer");
	const again = post(1, "b");
	await expect.poll(() => appends.length).toBe(3);
	expect(appends.map(({ unlessLast }) => unlessLast)).toEqual([true, false, true]);
	appends[2]!.answer.resolve(stored);
	await again;
});

it("D7: a repeat of an earlier post leaves the number of the next one as it is", async () => {
	const { posted } = setting();
	for (const number of [0, 1, 2]) await posted(number, `${number}`);
	expect(await posted(0, "0")).toBeUndefined();
	expect(await posted(2, "2"), "a second repeat").toBeUndefined();
	expect(await posted(3, "3")).toEqual({ unlessLast: false });
});

it("D7: the answer to a numbered post that was not written leaves the next one exact", async () => {
	const { posted } = setting();
	await posted(0, "a", { written: false });
	expect(await posted(1, "a"), "an equal chunk is none that repeats").toEqual({ unlessLast: false });
});

it("D7: a post about the attempt before this one changes nothing of the numbers of this one", async () => {
	const { posted, takenAgain } = setting();
	const stale = { ok: false, why: "stale" };
	for (const number of [0, 1, 2]) await posted(number, "a", { attempt: 1 });
	takenAgain(2);
	expect(await posted(2, "a", { attempt: 1, answer: stale, written: false })).toMatchObject({ attempt: 1 });
	expect(await posted(0, "b", { attempt: 2 })).toMatchObject({ attempt: 2 });
	expect(await posted(1, "a", { attempt: 1, answer: stale, written: false })).toMatchObject({ attempt: 1 });
	expect(await posted(1, "b", { attempt: 2 })).toEqual({ unlessLast: false, attempt: 2 });
	expect(await posted(1, "b", { attempt: 2 })).toBeUndefined();
});

it("D7: numbers decide also for an attempt that has another number here than at its worker", async () => {
	const { posted, takenAgain } = setting();
	takenAgain(2);
	expect(await posted(3, "a", { attempt: 1 })).toEqual({ unlessLast: true, attempt: 1 });
	expect(await posted(3, "a", { attempt: 1 })).toBeUndefined();
	expect(await posted(4, "a", { attempt: 1 })).toEqual({ unlessLast: false, attempt: 1 });
});

it("D7: the numbers of an attempt that another server handed out begin again at 0", async () => {
	const { posted } = setting();
	for (const number of [0, 1, 2]) await posted(number, "a", { attempt: 1 });
	for (const number of [0, 1]) expect(await posted(number, "a", { attempt: 2 })).toMatchObject({ attempt: 2 });
	expect(await posted(1, "a", { attempt: 2 })).toBeUndefined();
});
