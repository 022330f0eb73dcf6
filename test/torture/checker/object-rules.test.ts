/** The rule on what operators change: each planted bug is found, and what may happen is none. */
import { describe, expect, it } from "vitest";
import { checker } from "./checker.ts";
import { history, rulesOf } from "./made-history.ts";

const object = "endpoint x";
const change = (how: "create" | "put" | "set" | "delete", sets: Record<string, string> = {}) => ({ object, how, sets });
const made = () => history().add("change", change("create", { env: "1", max: "1" }));
const set = (env: string) => change("set", { env });
const shown = (env: string, max = "1") => ({ object, members: { env, max } });
const missing = { object, missing: true as const };
const unknown = { result: "unknown" as const };

describe("change-kept finds", () => {
	it.each([
		["an acknowledged change that is dropped", made().add("change", set("2")).add("shown", shown("1"))],
		["a value that was never set", made().add("shown", shown("7"))],
		[
			"the value of a refused change",
			made()
				.add("change", { ...set("2"), result: "fail" })
				.add("shown", shown("2")),
		],
		[
			"a change that is dropped by a later one of another member",
			made()
				.add("change", set("2"))
				.add("change", change("set", { max: "2" }))
				.add("shown", shown("1", "2")),
		],
		[
			"a change without an answer that takes effect long after it",
			made()
				.add("change", { ...set("2"), ...unknown })
				.add("change", { ...set("3"), at: 6000 })
				.add("shown", shown("2")),
		],
		["an acknowledged creation that is missing", made().add("shown", missing)],
		["a changed object that is missing", history().add("change", set("2")).add("shown", missing)],
		["a deleted object that comes back", made().add("change", change("delete")).add("shown", shown("1"))],
		["a deleted object that is changed", made().add("change", change("delete")).add("change", set("2"))],
		[
			"an object that has a value of before its deletion",
			made()
				.add("change", change("delete"))
				.add("change", change("create", { env: "2", max: "1" }))
				.add("shown", shown("1")),
		],
		["an object that is created twice", made().add("change", change("create", { env: "1" }))],
	])("%s", (_, { ops }) => expect(rulesOf({ ops })).toEqual(["change-kept"]));
});

const file = "file n-1";
const sent = { object: file, how: "create" as const, sets: { content: "a" } };
const removed = { object: file, how: "delete" as const, sets: {} };
const uploaded = () => history().add("change", sent);
const found = (content: string) => ({ object: file, members: { content } });
const lost = { object: file, missing: true as const };

describe("file-kept finds", () => {
	it.each([
		["an acknowledged file that is missing", uploaded().add("shown", lost)],
		["a half file", uploaded().add("shown", found("half of it"))],
		[
			"a half file of an upload without an answer",
			history()
				.add("change", { ...sent, ...unknown })
				.add("shown", found("half of it")),
		],
		["a file that was never uploaded", history().add("shown", found("a"))],
		["a deleted file that comes back", uploaded().add("change", removed).add("shown", found("a"))],
	])("%s", (_, { ops }) => expect(rulesOf({ ops })).toEqual(["file-kept"]));

	it.each([
		["not a file that is read until it is deleted", uploaded().add("shown", found("a")).add("change", removed)],
		[
			"not an upload without an answer that is there, or missing",
			history()
				.add("change", { ...sent, ...unknown })
				.add("shown", found("a"))
				.add("change", removed)
				.add("shown", lost),
		],
		[
			"not a file that is missing while it is deleted",
			uploaded()
				.add("change", removed)
				.add("shown", { ...lost, at: 25 }),
		],
	])("%s", (_, { ops }) => expect(rulesOf({ ops })).toEqual([]));
});

describe("change-kept takes for right", () => {
	it.each([
		["the last of two changes", made().add("change", set("2")).add("change", set("3")).add("shown", shown("3"))],
		[
			"either of two changes at once",
			made()
				.add("change", { ...set("2"), at: 100 })
				.add("change", { ...set("3"), at: 105 })
				.add("shown", shown("2")),
		],
		[
			"a change without an answer that was made",
			made()
				.add("change", { ...set("2"), ...unknown })
				.add("shown", shown("2")),
		],
		[
			"one that was not made",
			made()
				.add("change", { ...set("2"), ...unknown })
				.add("shown", shown("1")),
		],
		[
			"one that takes effect after a later one",
			made()
				.add("change", { ...set("2"), ...unknown })
				.add("change", set("3"))
				.add("shown", shown("2")),
		],
		[
			"a deletion without an answer",
			made()
				.add("change", { ...change("delete"), ...unknown })
				.add("shown", missing),
		],
		[
			"a new creation after a deletion",
			made()
				.add("change", change("delete"))
				.add("shown", missing)
				.add("change", change("create", { env: "2", max: "2" }))
				.add("shown", shown("2", "2")),
		],
		[
			"a put without an answer that created the object",
			made()
				.add("change", change("delete"))
				.add("change", { ...change("put", { env: "2", max: "2" }), ...unknown })
				.add("change", set("3"))
				.add("shown", shown("3", "2")),
		],
	])("%s", (_, { ops }) => expect(rulesOf({ ops })).toEqual([]));
});

it("forgets what later changes replace, and judges each operation once", () => {
	const checked = checker();
	const before = made().add("change", set("2")).add("change", set("3")).add("shown", shown("1")).ops;
	for (const op of before) checked.add(op);
	checked.forget(1_000_000);
	expect(checked.violations).toHaveLength(1);
	// The creation and the last change.
	expect(checked.held).toBe(2);
	const after = history()
		.add("shown", { ...shown("2"), at: 2_000_000 })
		.add("change", change("delete"))
		.add("change", change("create", { env: "4" })).ops;
	for (const op of after) checked.add(op);
	checked.forget(3_000_000);
	expect(checked.finish()).toHaveLength(2);
	// The deletion, and the creation after it.
	expect(checked.held).toBe(2);
});
