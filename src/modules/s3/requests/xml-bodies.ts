/** Reads the two forms of bodies that are XML. */
import { inSlices } from "../../../kernel/http/exchange/reply.ts";
import { S3Error } from "../errors.ts";

interface Node {
	name: string;
	text: string;
	children: Node[];
}

const TOKEN =
	/<(\/?)([A-Za-z][\w.:-]{0,63})(?:\s[^<>]{0,512}?)?(\/?)>|<\?[^<>]{0,256}\?>|<!--[^<>]{0,1024}-->|([^<]+)/y;
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const DEEPEST = 4;

/** 10,000 parts with checksums. Each element needs memory, however short it is. */
const MOST_ELEMENTS = 100_000;
const TOKENS_AT_ONCE = 500;

function malformed(why: string): S3Error {
	return new S3Error("MalformedXML", `The body is not the XML that this request needs: ${why}.`);
}

function unescaped(text: string): string {
	return text.replace(/&(?:#x([0-9a-fA-F]{1,6})|#(\d{1,7})|(\w{1,8}));|&/g, (whole, hex, decimal, name) => {
		const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
		const found = name === undefined ? character(code) : ENTITIES[name as string];
		if (found !== undefined) return found;
		throw malformed(`${whole === "&" ? "an ampersand" : whole} stands for no character`);
	});
}

function character(code: number): string | undefined {
	const isOne = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
	return isOne ? String.fromCodePoint(code) : undefined;
}

/** No document type, no entities of its own. Throws `MalformedXML`. */
function* parsed(xml: string): Generator<void, Node> {
	const root: Node = { name: "", text: "", children: [] };
	const open = [root];
	let elements = 0;
	let at = 0;
	for (let tokens = 1; at < xml.length; tokens += 1) {
		if (tokens % TOKENS_AT_ONCE === 0) yield;
		TOKEN.lastIndex = at;
		const found = TOKEN.exec(xml);
		if (!found) throw malformed(`it cannot be read at character ${at}`);
		at = TOKEN.lastIndex;
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
		elements += 1;
		if (elements > MOST_ELEMENTS) throw malformed(`it has more than ${MOST_ELEMENTS} elements`);
		if (!isEmpty && open.push(child) > DEEPEST + 1) throw malformed("it has too many levels");
	}
	const [only] = root.children;
	if (open.length > 1 || !only || root.children.length > 1) throw malformed("it does not end, or has several roots");
	if (root.text.trim() !== "") throw malformed("there is text before or behind it");
	return only;
}

const textIn = (node: Node, name: string): string | undefined =>
	node.children.find((child) => child.name === name)?.text;

async function rootOf(xml: string, name: string): Promise<Node> {
	const root = await inSlices(parsed(xml));
	if (root.name === name) return root;
	throw malformed(`its root is <${root.name}>, not <${name}>`);
}

const MOST_DELETED = 1000;

export async function readDelete(xml: string): Promise<{ keys: string[]; quiet: boolean }> {
	const root = await rootOf(xml, "Delete");
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

const MOST_PARTS = 10_000;

export async function readComplete(xml: string): Promise<ChosenPart[]> {
	const root = await rootOf(xml, "CompleteMultipartUpload");
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
