import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringOf } from "../../../kernel/lib/json/json-text.ts";
import { atOnce, blocksOf, edited, membersOf, removal, withMembers } from "./members.ts";

const NAMES = ["background", "store", "webhook"] as const;

const spaces = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
const value = fc.oneof(fc.json({ maxDepth: 2 }), fc.constantFrom("true", "null", '"a\\"b,"', "[1 , 2]", '{"store":1}'));
const name = fc.oneof(fc.constantFrom(...NAMES, "a", 'quoted"name', "é"), fc.string({ maxLength: 5 }));

/** Texts of objects with any white space, and the blocks that they were cut into. */
const objects = fc
	.tuple(
		fc.uniqueArray(fc.tuple(name, value, spaces), { selector: ([each]) => each, maxLength: 6 }),
		spaces,
		fc.array(fc.nat(), { minLength: 1, maxLength: 5 }),
	)
	.map(([members, space, cuts]) => {
		const texts = members.map(([key, json, gap]) => [gap, JSON.stringify(key), gap, ":", gap, json, gap].join(""));
		const text = [space, "{", space, texts.join(","), space, "}", space].join("");
		const bytes = new TextEncoder().encode(text);
		const at = [0, ...cuts.map((each) => each % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
		return { text, blocks: at.slice(1).map((end, index) => bytes.subarray(at[index], end)) };
	});

const found = (blocks: readonly Uint8Array[]) => atOnce(membersOf(blocks, NAMES))!;

describe("members of a text", () => {
	it("D5: those that are set have the values, and the rest is as it was", () => {
		fc.assert(
			fc.property(objects, ({ text, blocks }) => {
				const members = found(blocks);
				const after = stringOf(withMembers(blocks, members, { store: "7", webhook: '"x"' }));
				expect(JSON.parse(after)).toEqual({ ...JSON.parse(text), store: 7, webhook: "x" });
				// Set to what they are, the text does not change.
				const same = Object.entries(members).map(([key, at]) => [key, text8(blocks).slice(at!.start, at!.end)]);
				expect(text8(blocksOf(withMembers(blocks, members, Object.fromEntries(same))))).toBe(text8(blocks));
			}),
		);
	});

	it("D5: one that is removed is missing with its comma, and the rest is as it was", () => {
		fc.assert(
			fc.property(objects, ({ text, blocks }) => {
				for (const [key, at] of Object.entries(found(blocks))) {
					const { [key]: _, ...rest } = JSON.parse(text) as Record<string, unknown>;
					const after = text8(blocksOf(edited(blocks, [removal(blocks, at!)])));
					expect(JSON.parse(Buffer.from(after, "latin1").toString())).toEqual(rest);
					expect(after.length).toBeLessThan(text8(blocks).length);
				}
			}),
		);
	});

	it("D41: white space of megabytes around a member is read once", () => {
		const space = " ".repeat(20_000);
		const bytes = new TextEncoder().encode(`{"a":1${space},${space}"webhook"${space}:${space}null${space}}`);
		const size = 100;
		const blocks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
			bytes.subarray(n * size, (n + 1) * size),
		);
		let reads = 0;
		const counted = new Proxy(blocks, {
			get(target, key, receiver) {
				reads += 1;
				return Reflect.get(target, key, receiver) as unknown;
			},
		});
		const { webhook } = found(blocks);
		const edit = removal(counted, webhook!);
		expect(JSON.parse(text8(blocksOf(edited(blocks, [edit]))))).toEqual({ a: 1 });
		expect(reads).toBeLessThan(20 * blocks.length);
	});

	it("of duplicates the last is set, as parsers read it", () => {
		const blocks = blocksOf('{"store":true,"store":true}');
		expect(withMembers(blocks, found(blocks), { store: "false" })).toSatisfy(
			(after) => stringOf(after) === '{"store":true,"store":false}',
		);
	});
});

/** A character for each byte. */
function text8(blocks: readonly Uint8Array[]): string {
	return Buffer.concat(blocks).toString("latin1");
}
