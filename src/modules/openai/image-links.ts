/**
 * Pictures as links (D60): a client that asks for `response_format: url` gets them where the worker answers base64 and
 * the endpoint keeps files. All else of the answer stays as it is (D5).
 */
import type { JobFile, JobFiles } from "../../kernel/engine/job-files.ts";
import { inSlices } from "../../kernel/http/exchange/reply.ts";
import type { JsonMember } from "../../kernel/lib/json/json-scan.ts";
import { cut, type JsonBlocks, type JsonText } from "../../kernel/lib/json/json-text.ts";
import { plainEnd } from "../../kernel/lib/json/plain-text.ts";
import { blocksOf, changesOf, type Edit, edited, type Members, membersOf } from "./background/members.ts";
import { decodedPieces, decodedSize } from "./file-answer.ts";

/** An answer with more is left as it is. */
const MOST_PICTURES = 100;

type Range = Pick<JsonMember, "start" | "end">;

/** A member of `data` with a picture in `b64_json`. */
interface Picture extends Range {
	members: Members<"b64_json" | "url">;
	base64: JsonBlocks;
}

/** Replaces `b64_json` of the members of `data` by `url`. Throws as {@link JobFiles} does. */
export async function withLinks(body: JsonText, job: string, files: JobFiles): Promise<JsonText> {
	const blocks = blocksOf(body);
	const found = await inSlices(picturesIn(blocks));
	if (found.length === 0 || found.length > MOST_PICTURES) return body;
	const edits: Edit[] = [];
	for (const [index, { start, end, members, base64 }] of found.entries()) {
		const { type, extension } = kindOf(base64);
		const file: JobFile = { name: `${index + 1}${extension}`, contentType: type, pieces: decodedPieces(base64) };
		const link = await files.put(job, file);
		const changes = changesOf(cut(blocks, start, end), members, { url: JSON.stringify(link), b64_json: "null" });
		edits.push(...changes.map((each) => ({ ...each, start: each.start + start, end: each.end + start })));
	}
	return edited(blocks, edits);
}

/** Yields after each block. */
function* picturesIn(blocks: JsonBlocks): Generator<void, Picture[]> {
	const data = (yield* membersOf(blocks, ["data"]))?.data;
	if (data?.kind !== "array") return [];
	const pictures: Picture[] = [];
	for (const range of yield* objectsIn(blocks, data)) {
		const own = cut(blocks, range.start, range.end);
		const members = (yield* membersOf(own, ["b64_json", "url"])) ?? {};
		const { b64_json: value, url } = members;
		if (value?.kind !== "string" || (url && url.kind !== "null")) continue;
		const base64 = cut(own, value.start + 1, value.end - 1);
		if (((yield* decodedSize(base64)) ?? 0) > 0) pictures.push({ ...range, members, base64 });
	}
	return pictures;
}

const [QUOTE, BACKSLASH, ARRAY, ARRAY_END, OBJECT, OBJECT_END] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];

/** Where the objects of an array are, in a text that is JSON. Yields after each block. */
function* objectsIn(blocks: JsonBlocks, array: Range): Generator<void, Range[]> {
	const objects: Range[] = [];
	let depth = 0;
	let [isString, isEscaped] = [false, false];
	let from = 0;
	let base = array.start;
	for (const block of cut(blocks, array.start, array.end)) {
		for (let at = 0; at < block.length; at += 1) {
			if (isString && !isEscaped) at = plainEnd(block, at);
			if (at === block.length) break;
			const byte = block[at];
			if (isString) {
				if (isEscaped) isEscaped = false;
				else if (byte === BACKSLASH) isEscaped = true;
				else if (byte === QUOTE) isString = false;
			} else if (byte === QUOTE) isString = true;
			else if (byte === OBJECT || byte === ARRAY) {
				depth += 1;
				if (depth === 2) from = base + at;
			} else if (byte === OBJECT_END || byte === ARRAY_END) {
				if (depth === 2 && byte === OBJECT_END) objects.push({ start: from, end: base + at + 1 });
				depth -= 1;
			}
		}
		base += block.length;
		yield;
	}
	return objects;
}

/** First bytes of pictures, as base64. */
const KINDS = [
	["iVBORw0KGg", "image/png", ".png"],
	["/9j/", "image/jpeg", ".jpg"],
	["UklGR", "image/webp", ".webp"],
	["R0lGOD", "image/gif", ".gif"],
] as const;

function kindOf(base64: JsonBlocks): { type: string; extension: string } {
	const begin = Buffer.concat(cut(base64, 0, 16)).toString("latin1");
	const [, type = "application/octet-stream", extension = ""] = KINDS.find(([first]) => begin.startsWith(first)) ?? [];
	return { type, extension };
}
