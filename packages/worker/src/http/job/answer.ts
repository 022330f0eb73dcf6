/** Makes the job's output of an answer. Large bodies wait in a temporary file, and only one copy is in memory. */
import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import { RawJson } from "../../raw-json.ts";
import { ConnectionError } from "../exchange/connection.ts";
import { type Exchange, readStart } from "../exchange/exchange.ts";
import { spool, type Spool, TooLargeError } from "../exchange/spool.ts";
import { JobFailure } from "../job-failure.ts";
import { failureIn } from "../mapping/condition.ts";
import { jsonFaultAt } from "../mapping/json-fault.ts";
import { parseExact } from "../mapping/exact-json.ts";
import type { FailedRule, Mapping } from "../mapping/mapping.ts";
import { atPointer } from "../mapping/template.ts";

/** Characters. */
const LARGE = 1_048_576;

/** Bytes of an answer that is stored. The service may take less. */
const LARGEST_STORED = 1_073_741_824;

export interface AnswerOptions {
	answer: Mapping["answer"];
	failed: readonly FailedRule[];
	/** Where temporary files are. */
	folder?: string | undefined;
	/** Stores a binary answer. Undefined: it is base64 in the output. */
	store?: ((body: Spool, type: string) => Promise<RawJson>) | undefined;
}

/**
 * The output as JSON text, that of a JSON answer byte for byte. Throws {@link JobFailure}; what the connection throws
 * passes through.
 */
export async function readOutput(received: Exchange, options: AnswerOptions): Promise<RawJson> {
	const { as } = options.answer;
	const maxBytes = options.store ? LARGEST_STORED : options.answer.maxBytes;
	const encoding = received.headers["content-encoding"] ?? "identity";
	if (encoding !== "identity" || Number(received.headers["content-length"] ?? 0) > maxBytes) {
		received.close();
		throw encoding === "identity"
			? tooLarge("The answer", maxBytes)
			: new JobFailure(`The answer is encoded as ${encoding}, unasked.`);
	}
	let body: Spool;
	try {
		body = await spool(received.body, { maxBytes, folder: options.folder });
	} catch (error) {
		throw error instanceof TooLargeError ? tooLarge("The answer", maxBytes) : error;
	}
	try {
		const type = received.headers["content-type"] ?? "";
		const kind = as === "auto" || as === "typed" ? kindOf(type, body.bytes) : as;
		if (as === "typed" && kind !== "json") return new RawJson(await binaryJson(body, received.headers));
		if (kind === "binary" && options.store) return await options.store(body, type);
		if (kind === "binary") return new RawJson(await binaryJson(body, received.headers));
		const bytes = await body.buffer();
		const text = decoded(bytes, type);
		if (kind === "text") return rawOutput(JSON.stringify(text));
		return kind === "empty" ? new RawJson("null") : jsonOutput(text, options, sameText(bytes, text));
	} finally {
		await body.release();
	}
}

/** All of an answer. `what` names it in errors: {@link JobFailure} for one over `maxBytes`, {@link ConnectionError}. */
export async function readText(received: Exchange, what: string, maxBytes: number): Promise<string> {
	const { text, end } = await readStart(received, maxBytes);
	if (end === "bound") throw tooLarge(what, maxBytes);
	if (end === "cut") throw new ConnectionError(`${what} was cut`, "broken");
	return text;
}

export function tooLarge(what: string, maxBytes: number): JobFailure {
	return new JobFailure(`${what} is larger than ${maxBytes} bytes (http.answer.maxBytes).`);
}

/** The bytes of a text if they are its UTF-8. */
function sameText(bytes: Buffer, text: string): Buffer | undefined {
	return isUtf8(bytes) && bytes.length === Buffer.byteLength(text) ? bytes : undefined;
}

/** Output of JSON text, as for {@link readOutput}. `bytes`: the same as UTF-8, which spares a copy. */
export function jsonOutput(text: string, { answer, failed }: AnswerOptions, bytes?: Buffer): RawJson {
	const whole = (): RawJson => (bytes && bytes.length > LARGE ? new RawJson(bytes) : rawOutput(text));
	if (answer.at === undefined && failed.length === 0) {
		const faultAt = jsonFaultAt(text);
		if (faultAt !== undefined) throw noJson(`at character ${faultAt + 1}`, text);
		return whole();
	}
	const value = parseJson(text);
	const failure = failureIn(failed, value, text);
	if (failure !== undefined) throw new JobFailure(failure);
	if (answer.at === undefined) return whole();
	const found = atPointer(value, answer.at);
	if (found === undefined) throw new JobFailure(`The answer has no ${answer.at} (http.answer.at): ${text}`);
	return rawOutput(JSON.stringify(found));
}

/** Large text as bytes: those of a string would be in memory twice when it is posted. */
function rawOutput(text: string): RawJson {
	return new RawJson(text.length > LARGE ? Buffer.from(text) : text);
}

/** As {@link parseExact}. Throws {@link JobFailure}. */
export function parseJson(text: string): unknown {
	try {
		return parseExact(text);
	} catch (error) {
		throw noJson((error as Error).message, text);
	}
}

function noJson(where: string, text: string): JobFailure {
	return new JobFailure(`The answer is not JSON (${where}): ${text}`);
}

function kindOf(type: string, bytes: number): "json" | "text" | "binary" | "empty" {
	const essence = (type.split(";")[0] ?? "").trim().toLowerCase();
	if (bytes === 0) return essence.startsWith("text/") ? "text" : "empty";
	if (essence === "application/json" || essence.endsWith("+json")) return "json";
	return essence.startsWith("text/") ? "text" : "binary";
}

/** Decodes by the charset of the content type; UTF-8 without one. */
function decoded(bytes: Buffer, type: string): string {
	const label = /charset="?([\w.:-]+)/i.exec(type)?.[1];
	try {
		return new TextDecoder(label ?? "utf-8").decode(bytes);
	} catch {
		return new TextDecoder().decode(bytes);
	}
}

/** JSON of `{contentType, bytes, name?, data}`, made in one buffer. */
export async function binaryJson(body: Spool, headers: IncomingHttpHeaders): Promise<Buffer> {
	const name = fileName(headers["content-disposition"]);
	const head = { contentType: headers["content-type"] ?? "application/octet-stream", bytes: body.bytes };
	const start = `${ascii(JSON.stringify({ ...head, ...(name !== undefined && { name }) })).slice(0, -1)},"data":"`;
	const text = Buffer.allocUnsafe(start.length + Math.ceil(body.bytes / 3) * 4 + 2);
	let at = text.write(start, "latin1");
	for await (const piece of body.pieces()) at += text.write(piece.toString("base64"), at, "latin1");
	text.write('"}', at, "latin1");
	return text;
}

/** JSON with escapes for all but ASCII. */
function ascii(json: string): string {
	return json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The name that the answer gives its file, without folders (RFC 6266). */
function fileName(disposition: string | undefined): string | undefined {
	const extended = /filename\*=utf-8''([^;\s]+)/i.exec(disposition ?? "")?.[1];
	const name = percentDecoded(extended) ?? /filename="?([^";]+)/i.exec(disposition ?? "")?.[1];
	return name?.split(/[/\\]/).at(-1)?.trim() || undefined;
}

function percentDecoded(text: string | undefined): string | undefined {
	try {
		return text && decodeURIComponent(text);
	} catch {
		return undefined;
	}
}
