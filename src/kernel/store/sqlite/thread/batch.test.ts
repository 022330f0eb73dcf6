/** What shares a transaction: a batch, and those that arrive while it is worked on. */
import { expect, it } from "vitest";
import { batchSite, claim, claimed, get, insert } from "../../../../../test/support/sqlite/batches.ts";

it("D17: what arrives while a batch is worked on shares its commit, and claims run after all of it", async ({
	onTestFinished,
}) => {
	const s = await batchSite();
	onTestFinished(s.end);
	const reply = s.answer([...insert("a"), ...claim(9)], insert("b"), [...get("b"), ...insert("c")]);
	expect(reply).toMatchObject({ batches: 3, failures: [] });
	expect(s.ran("COMMIT")).toBe(1);
	expect(claimed(reply.answers[1])).toEqual(["a", "b", "c"]);
	expect(reply.answers[3]).toMatchObject([expect.arrayContaining(["b"]), undefined, undefined, undefined]);
});

it("a batch that only reads makes no commit, before others or alone", async ({ onTestFinished }) => {
	const s = await batchSite();
	onTestFinished(s.end);
	expect(s.answer(get("a"), get("b"))).toMatchObject({
		batches: 2,
		answers: [undefined, undefined],
	});
	expect(s.ran("COMMIT")).toBe(0);
	expect(s.answer(get("a"), insert("a"), get("a"))).toMatchObject({ batches: 3, failures: [] });
	expect(s.ran("COMMIT")).toBe(1);
});

it("an operation that fails hurts no other, whichever batch it came in", async ({ onTestFinished }) => {
	for (const at of [0, 1, 2]) {
		const s = await batchSite();
		onTestFinished(s.end);
		s.answer(insert("taken"));
		const batches = [insert("a"), insert("b"), [...claim(9), ...insert("c")]];
		// Its id is used: the statement that inserts it fails, and with it the transaction.
		batches[at] = [...batches[at]!, ...insert("taken")];
		const { answers, failures } = s.answer(...batches);
		const place = [1, 2, 4][at]!;
		expect(failures).toEqual([{ index: place, why: undefined, message: expect.stringContaining("UNIQUE") }]);
		expect(answers[place]).toBeUndefined();
		expect(claimed(answers[at === 2 ? 2 : 3])).toEqual(["taken", "a", "b", "c"]);
		const [, , found] = s.answer([...get("a"), ...get("b"), ...get("c")]).answers as [unknown, unknown, [unknown[]]];
		expect(found[0]).toContain("IN_PROGRESS");
	}
});

it("T11: a transaction waits for the rest of the turn unless stored jobs wait in its queues", async ({
	onTestFinished,
}) => {
	const s = await batchSite();
	onTestFinished(s.end);
	const waits = (...batches: unknown[][]): readonly boolean[] => {
		expect(s.answer(...batches).failures).toEqual([]);
		return s.waits();
	};
	expect(waits(insert("a"))).toEqual([true]);
	expect(waits(insert("b"), claim(9))).toEqual([false, false]);
	expect(waits(insert("c"))).toEqual([true]);
	expect(waits(claim(9))).toEqual([true]);
	// A batch that only reads has no transaction.
	expect(waits(get("c"), insert("d"))).toEqual([false, true]);
});

it("T11: rows that the transaction itself has written do not end its wait", async ({ onTestFinished }) => {
	const s = await batchSite({ keptRows: 2 });
	onTestFinished(s.end);
	s.answer(insert("a"), insert("b"), insert("c"));
	expect(s.ran("INSERT INTO jobs")).toBe(3);
	expect(s.waits()).toEqual([true, true, true]);
});

it("a transaction ends: what comes without end waits for the next one", async ({ onTestFinished }) => {
	const s = await batchSite();
	onTestFinished(s.end);
	const batches = Array.from({ length: 400 }, (_, n) => insert(`job-${n}`));
	expect(s.answer(...batches).batches).toBe(256);
	expect(s.left()).toBe(400 - 256);
});

it("a transaction of more new jobs than are kept in memory finds and claims each of them", async ({
	onTestFinished,
}) => {
	const s = await batchSite();
	onTestFinished(s.end);
	const ids = Array.from({ length: 3000 }, (_, n) => `job-${n}`);
	const { answers, failures } = s.answer([...ids.flatMap((id) => insert(id)), ...ids.flatMap(get), ...claim(5000)]);
	expect(failures).toEqual([]);
	expect(answers.slice(ids.length, 2 * ids.length).map((found) => (found as [unknown[]] | undefined)?.[0][0])).toEqual(
		ids,
	);
	expect(claimed(answers.at(-1))).toEqual(ids);
	expect(s.ran("COMMIT")).toBe(1);
});
