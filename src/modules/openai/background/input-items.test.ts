import { describe, expect, it } from "vitest";
import { itemsOf, pageOf } from "./input-items.ts";

const ID = "resp_01a22f34-317c-7650-96c6-39a71f301b68";
const items = (input: unknown) => itemsOf(input === undefined ? undefined : JSON.stringify(input), ID);
const parsed = (input: unknown): unknown[] => items(input).map(({ text }) => JSON.parse(text));

describe("the items of an input", () => {
	it("D58: a text is a message of the user", () => {
		expect(parsed("hi")).toEqual([
			{
				id: expect.stringMatching(/^msg_[0-9a-f]{36}$/),
				type: "message",
				role: "user",
				content: [{ type: "input_text", text: "hi" }],
			},
		]);
	});

	it("D58: items keep their ids and their members, and others get an id by their place", () => {
		const given = [
			{ role: "user", content: "a" },
			{ role: "assistant", content: "b", id: "msg_x" },
			{ type: "function_call_output", call_id: "c", output: "{}" },
			{ type: "message", role: "user", content: [{ type: "input_image", image_url: "u" }] },
		];
		const found = parsed(given) as { id: string }[];
		expect(found[0]).toMatchObject({ type: "message", content: [{ type: "input_text", text: "a" }] });
		expect(found[1]).toMatchObject({ id: "msg_x", content: [{ type: "output_text", text: "b" }] });
		expect(found[2]).toEqual({ ...given[2], id: found[2]!.id });
		expect(found[3]).toEqual({ ...given[3], id: found[3]!.id });
		expect(new Set(found.map(({ id }) => id)).size).toBe(4);
		expect(parsed(given)).toEqual(found);
	});

	it.each([[undefined], [7], [{}], [[]], [[1, "x", null]]])("D58: %j has none", (input) => {
		expect(items(input)).toEqual([]);
	});

	it("D58: pages follow each other in both orders, and an unknown id has none", () => {
		const all = items(Array.from({ length: 5 }, (_, n) => ({ id: `i${n}`, type: "x" })));
		for (const order of ["asc", "desc"] as const) {
			const ids: string[] = [];
			for (let after: string | undefined; ; after = ids.at(-1)) {
				const { page, hasMore } = pageOf(all, { after, limit: 2, order })!;
				ids.push(...page.map(({ id }) => id));
				if (!hasMore) break;
			}
			expect(order === "asc" ? ids : ids.toReversed()).toEqual(["i0", "i1", "i2", "i3", "i4"]);
		}
		expect(pageOf(all, { after: "other", limit: 2, order: "asc" })).toBeUndefined();
	});
});
