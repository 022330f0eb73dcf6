/** Answers of a bucket's server (D61). */
import fc from "fast-check";
import { elementsOf, textOf } from "../../../src/modules/files/bucket/xml.ts";
import { oddText } from "../generate.ts";
import { must, same, target } from "../target.ts";

const piece = fc.oneof(oddText, fc.constantFrom("<Key>", "</Key>", "<Key/>", "&", "&#", "&#x", ";", "&amp;", "&#34;"));

const escaped = (text: string): string =>
	text.replace(/[&<>"]/g, (c) => `&#x${c.charCodeAt(0).toString(16).toUpperCase()};`);

export const BUCKET_ANSWERS = target({
	name: "bucket-answers",
	sources: ["modules/files/bucket/xml.ts"],
	cases: fc.record({ pieces: fc.array(piece, { maxLength: 16 }), key: oddText }),
	check({ pieces, key }) {
		const text = pieces.map(String).join("");
		for (const found of elementsOf(text, "Key")) must(text.includes(`<Key>${found}</Key>`), "a part of no element");
		must((textOf(text, "Key") ?? "").length <= text.length, "a text that is longer than the answer");
		const name = `x${String(key)}x`;
		same("a name", textOf(`<A><Key>${escaped(name)}</Key></A>`, "Key"), name);
	},
});
