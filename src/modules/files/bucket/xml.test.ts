/** The elements of a bucket's answers (D61). */
import { expect, it } from "vitest";
import { elementsOf, textOf } from "./xml.ts";

it("D61: elements are found by name, with their text decoded", () => {
	const xml = "<R><Key>a&amp;lt;b</Key><KeyMarker>m</KeyMarker><Key> &#34;c&#x22; </Key><Empty></Empty><Key>cut";
	expect(elementsOf(xml, "Key")).toEqual(["a&amp;lt;b", " &#34;c&#x22; "]);
	expect(textOf(xml, "Key")).toBe("a&lt;b");
	expect(textOf("<E>&quot;1&quot; &unknown; &#1114112;</E>", "E")).toBe('"1" &unknown; &#1114112;');
	expect([textOf(xml, "Empty"), textOf(xml, "Absent")]).toEqual(["", undefined]);
});
