/** The XML of S3: writes answers, and reads the two forms of bodies. */
import { S3Error } from "./errors.ts";

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

interface Node {
	name: string;
	text: string;
	children: Node[];
}

const TOKEN = /<(\/?)([A-Za-z][\w.:-]{0,63})(?:\s[^<>]{0,512})?(\/?)>|<\?[^<>]{0,256}\?>|<!--[^<>]{0,1024}-->|([^<]+)/y;
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const DEEPEST = 4;

function malformed(why: string): S3Error {
	return new S3Error("MalformedXML", `The body is not the XML that this request needs: ${why}.`);
}

function unescaped(text: string): string {
	return text.replace(/&(?:#x([0-9a-fA-F]{1,6})|#(\d{1,7})|(\w{1,8}));/g, (whole, hex, decimal, name) => {
		const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
		if (name !== undefined) return ENTITIES[name as string] ?? whole;
		return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
	});
}

/** No document type, no entities of its own. Throws `MalformedXML`. */
function parse(xml: string): Node {
	const root: Node = { name: "", text: "", children: [] };
	const open = [root];
	TOKEN.lastIndex = 0;
	while (TOKEN.lastIndex < xml.length) {
		const at = TOKEN.lastIndex;
		const found = TOKEN.exec(xml);
		if (!found) throw malformed(`it cannot be read at character ${at}`);
		const [, closes, name, isEmpty, text] = found;
		const current = open.at(-1)!;
		if (text !== undefined) current.text += unescaped(text);
		if (name === undefined) continue;
		if (closes) {
			if (current.name !== name || open.length === 1) throw malformed(`</${name}> closes nothing`);
			open.pop();
			continue;
		}
		const child: Node = { name, text: "", children: [] };
		current.children.push(child);
		if (!isEmpty && open.push(child) > DEEPEST + 1) throw malformed("it has too many levels");
	}
	const [only] = root.children;
	if (open.length > 1 || !only || root.children.length > 1) throw malformed("it does not end, or has several roots");
	return only;
}

const textIn = (node: Node, name: string): string | undefined =>
	node.children.find((child) => child.name === name)?.text;

function rootOf(xml: string, name: string): Node {
	const root = parse(xml);
	if (root.name === name) return root;
	throw malformed(`its root is <${root.name}>, not <${name}>`);
}

export const MOST_DELETED = 1000;

export function readDelete(xml: string): { keys: string[]; quiet: boolean } {
	const root = rootOf(xml, "Delete");
	const keys = root.children.filter(({ name }) => name === "Object").map((each) => textIn(each, "Key") ?? "");
	if (keys.length === 0 || keys.length > MOST_DELETED || keys.includes(""))
		throw malformed(`it must have 1 to ${MOST_DELETED} elements Object, each with a Key`);
	return { keys, quiet: textIn(root, "Quiet")?.trim() === "true" };
}

export interface ChosenPart {
	number: number;
	/** The ETag without its quotes. */
	etag: string;
}

export const MOST_PARTS = 10_000;

export function readComplete(xml: string): ChosenPart[] {
	const root = rootOf(xml, "CompleteMultipartUpload");
	const parts = root.children
		.filter(({ name }) => name === "Part")
		.map((part) => ({
			number: partNumber(textIn(part, "PartNumber")?.trim()),
			etag: (textIn(part, "ETag") ?? "").trim().replaceAll('"', "").toLowerCase(),
		}));
	if (parts.length === 0 || parts.length > MOST_PARTS) throw malformed(`it must have 1 to ${MOST_PARTS} elements Part`);
	if (parts.some(({ number }, at) => at > 0 && number <= parts[at - 1]!.number))
		throw new S3Error("InvalidPartOrder", "The parts must be in the order of their numbers, each once.");
	return parts;
}

export function partNumber(text: string | undefined): number {
	const number = /^\d{1,5}$/.test(text ?? "") ? Number(text) : 0;
	if (number >= 1 && number <= MOST_PARTS) return number;
	throw new S3Error("InvalidArgument", `A part number must be a whole number from 1 to ${MOST_PARTS}.`);
}
