/**
 * Which waiting jobs a claim finds where some of their rows are in the file and others are not yet.
 */
import { expect, it } from "vitest";
import { batchSite, claim, claimed, handedOut, insert, op } from "../../../../../test/support/sqlite/batches.ts";

const ids = (from: number, count: number): string[] => Array.from({ length: count }, (_, n) => `job-${from + n}`);
const report = (id: string, on: "complete" | "fail"): unknown[] =>
	op("jobs.report", {
		id,
		worker: "w",
		outcome: {
			on,
			output: on === "complete" ? "{}" : undefined,
			error: on === "fail" ? "no" : undefined,
		},
	});

it("D17: finds jobs of this and earlier commits in order, with inputs, and writes those of this one once", async ({
	onTestFinished,
}) => {
	const s = await batchSite();
	onTestFinished(s.end);
	// The first claim of all finds out what is due.
	s.answer([...ids(0, 40).flatMap((id) => insert(id)), ...claim(0)]);
	const reply = s.answer([...ids(40, 40).flatMap((id) => insert(id)), ...claim(100)]);
	expect(handedOut(reply.answers.at(-1))).toEqual(ids(0, 80).map((id) => ({ id, input: `{"of":"${id}"}` })));
	expect(s.ran("INSERT INTO jobs")).toBe(80);
	expect(s.ran("UPDATE jobs")).toBe(40);
});

it("D20: low priority comes last, whichever is in the file", async ({ onTestFinished }) => {
	const s = await batchSite();
	onTestFinished(s.end);
	s.answer([...insert("a", { lowPriority: true }), ...insert("b")]);
	const reply = s.answer([...insert("c", { lowPriority: true }), ...insert("d"), ...claim(9)]);
	expect(claimed(reply.answers.at(-1))).toEqual(["b", "d", "a", "c"]);
});

it("a job that joins at the back stands between those that were added before and after it", async ({
	onTestFinished,
}) => {
	const s = await batchSite();
	onTestFinished(s.end);
	s.answer([...insert("retried"), ...claim(1)]);
	s.answer(report("retried", "fail"));
	const reply = s.answer([
		...insert("before"),
		...op("jobs.move", { id: "retried", on: "retry" }),
		...insert("after"),
		...claim(9),
	]);
	expect(reply.failures).toEqual([]);
	expect(claimed(reply.answers.at(-1))).toEqual(["before", "retried", "after"]);
});

it("of waiting jobs those that have lapsed are passed over, in the file or not", async ({ onTestFinished }) => {
	const s = await batchSite();
	onTestFinished(s.end);
	s.answer([...insert("a", { ttlMs: 1000 }), ...insert("b")]);
	const reply = s.answer([
		...insert("c", { ttlMs: 1000 }),
		...insert("d"),
		...op("jobs.claim", { worker: "w", limit: 9, maxBytes: 1e6, now: 1_800_000_001_000 }),
	]);
	expect(claimed(reply.answers.at(-1))).toEqual(["b", "d"]);
});

it.for([0, 1, 5, 40])(
	"none is missed when rows leave the memory in the middle of a claim (%i always left over)",
	async (left, { onTestFinished }) => {
		const s = await batchSite();
		onTestFinished(s.end);
		let from = 0;
		// The memory turns after a power of two, at a claim of these.
		for (let round = 0; round < 40; round += 1) {
			const found = round === 0 ? 64 - left : 64;
			const reply = s.answer([...ids(round * 64, 64).flatMap((id) => insert(id)), ...claim(found)]);
			expect(claimed(reply.answers.at(-1))).toEqual(ids(from, found));
			s.answer(ids(from, found).flatMap((id) => report(id, "complete")));
			from += found;
		}
	},
);
