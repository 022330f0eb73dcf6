/** The checker of a run of days drops what no later operation needs, and finds what it found before. */
import { expect, it } from "vitest";
import { checker } from "./checker.ts";
import { ENDED, ended, history, queued } from "./made-history.ts";

const LATER = 1_000_000;

/** Rules broken by these operations when all before is forgotten between them. */
function rulesOf(...parts: { ops: readonly { op: string }[] }[]): string[] {
	const checked = checker();
	for (const { ops } of parts) {
		for (const op of ops) checked.add(op as never);
		checked.forget(LATER);
	}
	return checked.finish().map(({ rule }) => rule);
}

it("forgets closed jobs, refused requests, purges and faults", () => {
	const checked = checker();
	const made = ended()
		.close()
		.submit({ n: 2, result: "fail", job: undefined! })
		.submit({ n: 3, result: "unknown", job: undefined! })
		.add("purge", { removed: 0 })
		.add("fault", { what: "a kill" });
	for (const op of made.ops) checked.add(op);
	const { held } = checked;
	expect(held).toBeGreaterThanOrEqual(4);
	checked.forget(50);
	expect(checked.held).toBe(held);
	checked.forget(LATER);
	expect(checked.held).toBe(0);
	expect(checked.finish()).toEqual([]);
});

it("keeps open jobs and the requests that made them", () => {
	const keyed = history().endpoint().submit({ key: "k" }).take().report().read(ENDED);
	const other = history().read({ ...ENDED, output: '"x"' }, LATER);
	expect(rulesOf(keyed, other)).toContain("final-once");
	const again = history().submit({ key: "k", job: "k", at: LATER });
	expect(rulesOf(keyed, again)).toContain("one-job-per-request");
});

it("finds a queue above its limit before, across and after the moment, each once", () => {
	const later = (count: number) => {
		const made = history();
		for (let n = 0; n < count; n += 1) made.submit({ n: 10 + n, job: `later${n}`, at: LATER + n * 20 });
		return made;
	};
	const left = history();
	for (let n = 0; n < 3; n += 1) left.add("cancel", { job: `j${n}`, state: "CANCELLED", at: 500 + n * 20 });
	expect(rulesOf(queued(5)).filter((rule) => rule === "queue-limit")).toHaveLength(1);
	expect(rulesOf(queued(3), later(2))).toContain("queue-limit");
	expect(rulesOf(queued(3), left, later(5))).toContain("queue-limit");
	expect(rulesOf(queued(3), left, later(3))).not.toContain("queue-limit");
});

it("adds up what purges answered before the moment and after it", () => {
	const purged = (n: number, removed: number) =>
		history()
			.submit({ n, job: `p${n}`, at: n * LATER })
			.add("purge", { removed })
			.add("read", { job: `p${n}`, how: "status", missing: true })
			.add("close", { job: `p${n}` });
	const first = history().endpoint();
	expect(rulesOf(first, purged(0, 1), purged(2, 1))).toEqual([]);
	expect(rulesOf(first, purged(0, 2), purged(2, 1))).toEqual(["purge-count"]);
	expect(rulesOf(first, purged(0, 0), purged(2, 1))).toEqual(["purge-count"]);
});
