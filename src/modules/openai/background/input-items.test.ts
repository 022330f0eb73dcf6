import { describe, expect, it } from "vitest";
import { inSlices } from "../../../kernel/http/exchange/reply.ts";
import { type ItemQuery, pageOf } from "./input-items.ts";
import { atOnce } from "./members.ts";

const ID = "resp_01a22f34-317c-7650-96c6-39a71f301b68";
const bytesOf = (input: unknown) => (input === undefined ? undefined : new TextEncoder().encode(JSON.stringify(input)));
const pages = (input: unknown, q: ItemQuery) => atOnce(pageOf(bytesOf(input), ID, q));
const items = (input: unknown) => pages(input, { after: undefined, limit: 100, order: "asc" })!.items;
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

	/** The ids of all pages, as a client asks for them. */
	function idsOf(input: unknown, order: ItemQuery["order"]): string[] {
		const ids: string[] = [];
		for (let after: string | undefined; ids.length < 100; after = ids.at(-1)) {
			const { items: page, hasMore } = pages(input, { after, limit: 2, order })!;
			ids.push(...page.map(({ id }) => id));
			if (!hasMore) break;
		}
		return ids;
	}

	it("D58: pages follow each other in both orders, and an unknown id has none", () => {
		const all = Array.from({ length: 5 }, (_, n) => ({ id: `i${n}`, type: "x" }));
		const ids = all.map(({ id }) => id);
		expect(idsOf(all, "asc")).toEqual(ids);
		expect(idsOf(all, "desc")).toEqual(ids.toReversed());
		for (const order of ["asc", "desc"] as const)
			expect(pages(all, { after: "other", limit: 2, order })).toBeUndefined();
	});

	it.each(["i", "", "i".repeat(300), "a\nb"])("D58: pages end although all items have the id %j", (id) => {
		const all = Array.from({ length: 5 }, (_, n) => ({ id, n }));
		for (const order of ["asc", "desc"] as const) {
			const ids = idsOf(all, order);
			expect(new Set(ids).size).toBe(5);
			expect(ids).toHaveLength(5);
			expect(Math.max(...ids.map(({ length }) => length))).toBeLessThanOrEqual(200);
		}
	});

	it("D58: an id is found however its name is written", () => {
		const text = new TextEncoder().encode('[{"\\u0069d":"x"}, {"n":"id"}]');
		const found = atOnce(pageOf(text, ID, { after: undefined, limit: 5, order: "asc" }))!.items;
		expect(found.map(({ id }) => id)).toEqual(["x", expect.stringMatching(/^msg_/)]);
	});

	it("D58, D41: other requests run while a page of very many items is searched", async () => {
		const all = new TextEncoder().encode(`[${"{},".repeat(20_000)}{}]`);
		let turns = 0;
		let isOver = false;
		const count = (): void => {
			turns += 1;
			if (!isOver) setImmediate(count);
		};
		setImmediate(count);
		const page = await inSlices(pageOf(all, ID, { after: undefined, limit: 3, order: "desc" }));
		isOver = true;
		expect(page!.items).toHaveLength(3);
		expect(turns).toBeGreaterThan(200);
	});
});
