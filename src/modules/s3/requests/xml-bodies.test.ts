import { expect, it } from "vitest";
import { escapeXml } from "../xml.ts";
import { readComplete, readDelete } from "./xml-bodies.ts";

it("D59: reads what clients send", async () => {
	const head =
		'<?xml version="1.0" encoding="UTF-8"?>\n<!-- c --><Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/">';
	expect(
		await readDelete(`${head}<Quiet >true</Quiet>\n<Object><Key>a &amp;&lt;&#10;&#x1F600;</Key></Object></Delete>`),
	).toEqual({
		keys: ["a &<\n😀"],
		quiet: true,
	});
	const parts = ['"AB"', "&quot;ab&quot;", "&#34;ab&#34;", "ab"].map(
		(etag, at) =>
			`<Part><ETag>${etag}</ETag><PartNumber>${at + 1}</PartNumber><ChecksumCRC32 /><ChecksumSHA1 a="/"/></Part>`,
	);
	expect(await readComplete(`<CompleteMultipartUpload>${parts.join("\n")}</CompleteMultipartUpload>`)).toEqual(
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
	["x<Delete><Object><Key>a</Key></Object></Delete>", "MalformedXML"],
	["<Delete><Object><Key>a&#0;</Key></Object></Delete>", "MalformedXML"],
	["<Delete><Object><Key>a&#xd800;</Key></Object></Delete>", "MalformedXML"],
	["<Delete><Object><Key>a&other;</Key></Object></Delete>", "MalformedXML"],
	["<Delete><Object><Key>a&b</Key></Object></Delete>", "MalformedXML"],
])("D59: %s is refused", async (xml, s3Code) => {
	await expect(readDelete(xml)).rejects.toEqual(expect.objectContaining({ s3Code }));
});

it("D59: very many elements are refused", async () => {
	const many = `<Delete>${"<a/>".repeat(100_000)}<Object><Key>a</Key></Object></Delete>`;
	await expect(readDelete(many)).rejects.toEqual(expect.objectContaining({ s3Code: "MalformedXML" }));
});

it("D59: parts in another document than their own are refused", async () => {
	const parts = "<Part><PartNumber>1</PartNumber><ETag>ab</ETag></Part>";
	expect(await readComplete(`<CompleteMultipartUpload>${parts}</CompleteMultipartUpload>`)).toHaveLength(1);
	await expect(readComplete(`<Delete>${parts}</Delete>`)).rejects.toEqual(
		expect.objectContaining({ s3Code: "MalformedXML" }),
	);
});

it("D59: keys with any character are escaped", () => {
	expect(escapeXml("a<b>&\"'\u0001\n")).toBe("a&lt;b&gt;&amp;&quot;&apos;&#x1;&#xa;");
});
