/** What is wrong with a file of requests that its batch would fail for too, found before it is uploaded (D57). */
import { membersOf } from "../../../cli/framework/json-members.ts";
import type { Line } from "../../../cli/framework/lines.ts";

const MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const MOST_LINE_BYTES = 20 * 2 ** 20;
const MOST_FAULTS = 10;
/** Characters of a value that are shown. */
const SHOWN = 60;
/** Longer ones are never blank. */
const BLANK_BYTES = 100;

interface Checked {
	/** Path of each request: that which was given, else that of the first line which has one. */
	path: string | undefined;
	requests: number;
	/** Sentences about the first ten lines that have one. */
	faults: string[];
}

/** The service checks the same, and more: bodies are the worker's matter. */
export async function checkLines(
	lines: AsyncIterable<Pick<Line, "bytes">>,
	given: string | undefined,
): Promise<Checked> {
	const checked: Checked = { path: given, requests: 0, faults: [] };
	const seen = new Map<string, number>();
	let line = 0;
	for await (const { bytes } of lines) {
		line += 1;
		const text = line === 1 ? withoutMark(bytes) : bytes;
		if (text.length < BLANK_BYTES && text.toString().trim() === "") continue;
		checked.requests += 1;
		const request = readRequest(text);
		checked.path ??= request.url;
		const fault = request.fault ?? urlFault(request.url, checked.path) ?? idFault(request.id, line, seen);
		if (fault !== undefined) checked.faults.push(`Line ${line}: ${fault}`);
		if (checked.faults.length < MOST_FAULTS) continue;
		checked.faults.push("There may be more.");
		break;
	}
	return checked;
}

/** Path of the first request. Undefined if none has one. */
export async function firstPath(lines: AsyncIterable<Pick<Line, "bytes">>): Promise<string | undefined> {
	for await (const { bytes } of lines) {
		const { url } = readRequest(withoutMark(bytes));
		if (url !== undefined) return url;
	}
	return undefined;
}

function withoutMark(bytes: Buffer): Buffer {
	return bytes.subarray(0, MARK.length).equals(MARK) ? bytes.subarray(MARK.length) : bytes;
}

interface Request {
	fault?: string;
	id?: string | undefined;
	url?: string | undefined;
}

function readRequest(bytes: Buffer): Request {
	if (bytes.length > MOST_LINE_BYTES) return { fault: `it has ${bytes.length} bytes, more than 20 MiB.` };
	const found = membersOf(bytes, ["custom_id", "method", "url", "body"]);
	if (!found.ok) return { fault: `it is not JSON: ${found.fault}` };
	if (!found.object) return { fault: "it must be a JSON object." };
	const { custom_id: id, method, url, body } = found.texts;
	const request = { id: stringOf(id), url: stringOf(url) };
	const fault =
		valueFault("custom_id", id, request.id) ??
		(stringOf(method) === "POST" ? undefined : mustBe("method", '"POST"', method)) ??
		valueFault("url", url, request.url) ??
		bodyFault(body);
	return fault === undefined ? request : { ...request, fault };
}

function valueFault(name: string, text: string | undefined, value: string | undefined): string | undefined {
	return value === undefined ? mustBe(name, "a string", text) : undefined;
}

function bodyFault(text: string | undefined): string | undefined {
	const body = membersOf(text ?? "null", ["stream", "background"]);
	if (!body.ok || !body.object) return mustBe("body", "a JSON object", text);
	if (body.texts["stream"] === "true") return "body.stream must not be true: the answer of a request is one text.";
	return body.texts["background"] === "true"
		? "body.background must not be true: the answer would be one that still waits."
		: undefined;
}

function urlFault(url: string | undefined, path: string | undefined): string | undefined {
	return url === path ? undefined : `url is ${shown(url)}, but that of the batch is ${shown(path)}.`;
}

function idFault(id: string | undefined, line: number, seen: Map<string, number>): string | undefined {
	if (id === undefined) return undefined;
	const before = seen.get(id);
	if (before !== undefined) return `custom_id ${shown(id)} is that of line ${before} too.`;
	seen.set(id, line);
	return undefined;
}

function stringOf(text: string | undefined): string | undefined {
	return text?.startsWith('"') ? (JSON.parse(text) as string) : undefined;
}

function mustBe(name: string, what: string, text: string | undefined): string {
	return text === undefined ? `${name} is missing.` : `${name} must be ${what}, not ${cut(text)}.`;
}

function shown(value: string | undefined): string {
	return cut(JSON.stringify(value));
}

function cut(text: string): string {
	return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
