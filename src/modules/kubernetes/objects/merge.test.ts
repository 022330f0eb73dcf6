/** Merging a template over a Pod. */
import { describe, expect, it } from "vitest";
import { merged } from "./merge.ts";

describe("merged", () => {
	it.each([
		["members of objects", { a: { b: 1, c: 2 } }, { a: { c: 3 } }, { a: { b: 1, c: 3 } }],
		["null removes a member", { a: 1, b: { c: 1, d: 2 } }, { b: { c: null } }, { a: 1, b: { d: 2 } }],
		["a list as a whole", { args: ["a"] }, { args: ["b"] }, { args: ["b"] }],
		[
			"named entries by name, new ones after",
			{ containers: [{ name: "worker", image: "a", args: ["x"] }] },
			{
				containers: [
					{ name: "worker", image: "b" },
					{ name: "side", image: "c" },
				],
			},
			{
				containers: [
					{ name: "worker", image: "b", args: ["x"] },
					{ name: "side", image: "c" },
				],
			},
		],
		[
			"mounts by path",
			{ volumeMounts: [{ name: "v", mountPath: "/a" }] },
			{
				volumeMounts: [
					{ name: "w", mountPath: "/a" },
					{ name: "v", mountPath: "/b" },
				],
			},
			{
				volumeMounts: [
					{ name: "w", mountPath: "/a" },
					{ name: "v", mountPath: "/b" },
				],
			},
		],
		[
			"tolerations are added",
			{ tolerations: [{ key: "a" }] },
			{ tolerations: [{ key: "b" }] },
			{ tolerations: [{ key: "a" }, { key: "b" }] },
		],
		["another kind of value replaces", { a: { b: 1 } }, { a: 2 }, { a: 2 }],
	])("%s", (_, base, over, result) => {
		expect(merged(base, over)).toEqual(result);
	});

	it("leaves both as they were", () => {
		const base = { a: { b: 1 }, containers: [{ name: "worker" }] };
		const over = { a: { c: 2 }, containers: [{ name: "worker", image: "x" }] };
		merged(base, over);
		expect([base, over]).toEqual([
			{ a: { b: 1 }, containers: [{ name: "worker" }] },
			{ a: { c: 2 }, containers: [{ name: "worker", image: "x" }] },
		]);
	});
});
