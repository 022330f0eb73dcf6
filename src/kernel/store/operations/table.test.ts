/** One table of operations: what it says of one is all that the stores and the gate know of it. */
import { describe, expect, it } from "vitest";
import type { Operation, OpName } from "./operation.ts";
import { insert } from "./insert.ts";
import { type AllDialectHandlers, isRead, memberOf, OP_NAMES, OPERATIONS, storeOf } from "./table.ts";

describe("operations", () => {
	it("an operation that is missing from the table, or is in no contract, does not compile", () => {
		const { "jobs.insert": _, ...others } = OPERATIONS;
		// @ts-expect-error -- without jobs.insert
		const missing: { [N in OpName]: Operation<N> } = others;
		// @ts-expect-error -- the contract has no such method
		const unknown: OpName = "jobs.lost";
		expect([Object.keys(missing), unknown]).toHaveLength(2);
	});

	it("a rule under another name does not compile", () => {
		// @ts-expect-error -- the answers of the two differ
		const swapped: Operation<"chunks.append"> = insert;
		expect(swapped).toBe(insert);
	});

	it("a dialect that lacks an operation of its own does not compile", () => {
		// @ts-expect-error -- without `list`, which both dialects share, but also without `forget`
		const endpoints: AllDialectHandlers["endpoints"] = {};
		expect(Object.keys(endpoints)).toHaveLength(0);
	});

	it("a store has a method for each operation, and nothing else", () => {
		const store = storeOf((name) => async () => name);
		const found = Object.entries(store).flatMap(([group, methods]) =>
			typeof methods === "function" ? [group] : Object.keys(methods).map((method) => `${group}.${method}`),
		);
		expect(found.toSorted()).toEqual(OP_NAMES.toSorted());
	});

	it("each operation either has a rule, with what it reads, or is each dialect's own", () => {
		for (const name of OP_NAMES) {
			const operation = OPERATIONS[name] as Operation<OpName>;
			expect(typeof operation.apply, name).toBe("reads" in operation ? "function" : "undefined");
		}
	});

	it("finds the function of an operation, in a group or alone", () => {
		const own = { jobs: { list: "list" }, ping: "ping" } as unknown as AllDialectHandlers;
		expect(memberOf(own, "jobs.list")).toBe("list");
		expect(memberOf(own, "ping")).toBe("ping");
	});

	it("D40: what only reads works while the store is full", () => {
		expect(OP_NAMES.filter((name) => name.startsWith("jobs.") && isRead(name))).toEqual([
			"jobs.get",
			"jobs.counts",
			"jobs.allCounts",
			"jobs.stored",
			"jobs.oldestWaiting",
			"jobs.waiting",
			"jobs.list",
			"jobs.record",
			"jobs.running",
			"jobs.unstopped",
			"jobs.attempts",
		]);
		expect(isRead("chunks.reserve")).toBe(false);
	});
});
