/** Posts of chunks that are repeated while the first one is in progress (D7). */
import { expect, it } from "vitest";
import { eventBus } from "../../../events.ts";
import { workerRegistry } from "../../workers/worker-registry.ts";
import { addChunks } from "./chunks.ts";

const JOB = "0190a0b0-0000-7000-8000-000000000001";

type Deps = Parameters<typeof addChunks>[0];

/** A worker that holds the job, and the appends that the store is to answer. */
function setting() {
	const events = eventBus();
	const worker = workerRegistry(events).meet({ id: "w", endpoint: "e", ready: true, now: 0 });
	worker.held.set(JOB, { attempt: 1, handedAt: 0 });
	const appends: {
		chunks: readonly string[];
		unlessLast: boolean;
		answer: PromiseWithResolvers<object>;
	}[] = [];
	const d = {
		now: () => 1,
		events,
		store: {
			chunks: {
				append({ chunks, unlessLast }: { chunks: readonly string[]; unlessLast: boolean }) {
					const answer = Promise.withResolvers<object>();
					appends.push({ chunks, unlessLast, answer });
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
	const post = (number: number, text: string) => addChunks(d, { worker, id: JOB, pieces: [text], number, count: 1 });
	return { appends, post };
}

const stored = { ok: true, repeat: false, from: 0, attempt: 1 };

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
