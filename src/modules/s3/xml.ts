/** Writes the XML of answers. */

export const XML_TYPE = "application/xml";

const NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/";

const ESCAPES: Readonly<Record<string, string>> = {
	"&": "&amp;",
	"<": "&lt;",
	">": "&gt;",
	'"': "&quot;",
	"'": "&apos;",
};

export function escapeXml(text: string): string {
	// oxlint-disable-next-line no-control-regex -- keys may have them, and readers of XML drop what is not escaped
	return text.replace(/[&<>"'\u0000-\u001f\ufffe\uffff]/g, (c) => ESCAPES[c] ?? `&#x${c.charCodeAt(0).toString(16)};`);
}

/** `content`: XML, or with `text` what is to be escaped. */
export function element(name: string, content: string, kind?: "text"): string {
	return `<${name}>${kind === "text" ? escapeXml(content) : content}</${name}>`;
}

/** Elements of plain values; those that are undefined are left out. */
export function elements(values: Readonly<Record<string, string | number | boolean | undefined>>): string {
	return Object.entries(values)
		.map(([name, value]) => (value === undefined ? "" : element(name, String(value), "text")))
		.join("");
}

export function xmlDocument(root: string): string {
	return `<?xml version="1.0" encoding="UTF-8"?>\n${root}`;
}

/** An answer of S3 with its name space. */
export function answerXml(name: string, content: string): string {
	return xmlDocument(`<${name} xmlns="${NAMESPACE}">${content}</${name}>`);
}
