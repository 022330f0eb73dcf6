import { expect, it } from "vitest";
import { escapeXml } from "./xml.ts";
import { readComplete, readDelete } from "./xml-bodies.ts";

it("D59: reads what clients send", () => {
	const head =
		'<?xml version="1.0" encoding="UTF-8"?>\n<!-- c --><Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/">';
	expect(
		readDelete(`${head}<Quiet>true</Quiet>\n<Object><Key>a &amp;&lt;&#10;&#x1F600;</Key></Object></Delete>`),
	).toEqual({
		keys: ["a &<\n😀"],
		quiet: true,
	});
	const parts = ['"AB"', "&quot;ab&quot;", "&#34;ab&#34;", "ab"].map(
		(etag, at) => `<Part><ETag>${etag}</ETag><PartNumber>${at + 1}</PartNumber><ChecksumCRC32/></Part>`,
	);
	expect(readComplete(`<CompleteMultipartUpload>${parts.join("\n")}</CompleteMultipartUpload>`)).toEqual(
		[1, 2, 3, 4].map((number) => ({ number, etag: "ab" })),
	);
});

it.each([
	["<a></b>", "MalformedXML"],
	["<Other><Object><Key>a</Key></Object></Other>", "MalformedXML"],
	["<Delete></Delete><Delete></Delete>", "MalformedXML"],
	["<Delete><Object/></Delete>", "MalformedXML"],
	["<Delete><![CDATA[x]]></Delete>", "MalformedXML"],
	[`<Delete>${"<Object><Key>a</Key></Object>".repeat(1001)}</Delete>`, "MalformedXML"],
	["<", "MalformedXML"],
])("D59: %s is refused", (xml, s3Code) => {
	expect(() => readDelete(xml)).toThrow(expect.objectContaining({ s3Code }));
});

it("D59: keys with any character are escaped", () => {
	expect(escapeXml("a<b>&\"'\u0001\n")).toBe("a&lt;b&gt;&amp;&quot;&apos;&#x1;&#xa;");
});
