/** Reads a request for a video, JSON or a form, as the JSON of the same request (D62). */
import { badRequest } from "../../kernel/core/errors.ts";
import { SUBMISSION_JSON } from "../../kernel/core/jobs/submission.ts";
import type { JsonBlocks, JsonText } from "../../kernel/lib/json/json-text.ts";
import { type Fault, isObject } from "../../kernel/lib/schema.ts";
import { notAnObject, readJson } from "../../kernel/http/exchange/body.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import { isForm, readForm } from "../../kernel/http/exchange/form.ts";
import { badForm } from "../../kernel/http/exchange/form-parser.ts";
import { inSlices } from "../../kernel/http/exchange/reply.ts";
import { blocksOf, type Members, membersOf, partOf } from "../openai/background/members.ts";
import { base64Of, type FormMemory, formMemory, PARTS } from "../openai/form-input.ts";
import { LONGEST_PROMPT } from "./routes.ts";

const NAMES = ["prompt", "model", "seconds", "size", "input_reference"] as const;

/** Characters of what is shown with each answer. */
const LONGEST_TEXT = 256;

/** Depth of names with brackets. */
const DEEPEST = 8;

export interface Picture {
	type: string;
	/** base64. */
	data: JsonText;
}

export interface VideoRequest {
	/** A JSON object. */
	body: JsonBlocks;
	members: Members<(typeof NAMES)[number]>;
	/** The file of a form; its `input_reference` is null. */
	picture: Picture | undefined;
	/** Id of the file that `input_reference` names. */
	fileId: string | undefined;
	memory: FormMemory;
}

/** Bytes whose base64 fits into a body. */
export const fileBound = ({ maxBody }: Call): number => Math.floor((maxBody * 3) / 4);

/** Throws 400, with the member that is wrong. */
export async function videoRequest(call: Call): Promise<VideoRequest> {
	const memory = formMemory(call, fileBound(call));
	const { body, picture } = isForm(call.req) ? await formRequest(call, memory) : { body: await readObject(call) };
	const members = (await inSlices(membersOf(body, NAMES)))!;
	const value = (name: (typeof NAMES)[number]): unknown =>
		members[name] && members[name].kind !== "null" ? JSON.parse(partOf(body, members[name])) : undefined;
	const reference = value("input_reference");
	const faults = [
		promptFault(value("prompt")),
		...(["model", "seconds", "size"] as const).map((name) => textFault(name, value(name))),
		referenceFault(reference),
	].filter((fault) => fault !== undefined);
	if (faults.length > 0) throw badRequest(faults);
	return { body, members, picture, fileId: (reference as { file_id?: string } | undefined)?.file_id, memory };
}

export async function readObject(call: Call): Promise<JsonBlocks> {
	const body = await readJson(call, { ...SUBMISSION_JSON, members: [] });
	if (!body.scan.ok || body.scan.kind !== "object") throw notAnObject(call, body.scan);
	return body.blocks;
}

export function promptFault(value: unknown): Fault | undefined {
	if (typeof value === "string" && value !== "" && value.length <= LONGEST_PROMPT) return undefined;
	return { field: "prompt", message: `must be a text of 1 to ${LONGEST_PROMPT} characters.` };
}

/** Servers of models also take numbers. */
function textFault(field: string, value: unknown): Fault | undefined {
	if (value === undefined || typeof value === "number") return undefined;
	if (typeof value === "string" && value.length <= LONGEST_TEXT) return undefined;
	return { field, message: `must be a text of at most ${LONGEST_TEXT} characters.` };
}

function referenceFault(value: unknown): Fault | undefined {
	if (value === undefined) return undefined;
	const { image_url: url, file_id: file } = isObject(value) ? value : {};
	const isUrl = typeof url === "string" && /^(?:https?:\/\/|data:)/i.test(url);
	if ((isUrl && file === undefined) || (typeof file === "string" && url === undefined)) return undefined;
	return {
		field: "input_reference",
		message: "must be a file, or have either file_id or image_url, which is an http, https or data: URL.",
	};
}

/** Keys of a map, since names of clients may be those of inherited members. */
type Fields = Map<string, string | string[] | null | Fields>;

/** The file may come before the fields. */
async function formRequest(call: Call, memory: FormMemory): Promise<Pick<VideoRequest, "body" | "picture">> {
	const fields: Fields = new Map();
	let picture: Picture | undefined;
	const bytes = fileBound(call);
	for await (const part of readForm(call, { ...PARTS, files: 1, bytes, fileBytes: bytes })) {
		const { name } = part;
		if (!("content" in part)) {
			await memory.add(part.value.length);
			// `a[b][]` is a, b and an empty name.
			const path = /^[^[\]]+(?:\[[^[\]]*\])+$/.test(name) ? name.replaceAll("]", "").split("[") : [name];
			if (path.length > DEEPEST) throw badForm(`the name of a part has over ${DEEPEST - 1} brackets.`);
			put(fields, path, part.value);
		} else if (name === "input_reference")
			picture = { type: part.type, data: await base64Of(part.content as AsyncIterable<Buffer>, memory.add) };
		else throw badForm(`'${name.slice(0, 80)}' is a file, and only input_reference may be one.`);
	}
	if (picture) fields.set("input_reference", null);
	return { body: blocksOf(JSON.stringify(plain(fields))), picture };
}

/** A name that repeats, or ends with an empty one, has a list. */
function put(fields: Fields, [key = "", ...rest]: readonly string[], value: string): void {
	const there = fields.get(key) ?? undefined;
	const isEnd = rest.length === 0 || (rest.length === 1 && rest[0] === "");
	if (there !== undefined && there instanceof Map === isEnd)
		throw badForm(`'${key.slice(0, 80)}' is both a value and an object.`);
	if (isEnd) {
		const before = there as string | string[] | undefined;
		const isFirst = before === undefined && rest.length === 0;
		return void fields.set(key, isFirst ? value : [...[before ?? []].flat(), value]);
	}
	const inner = (there as Fields | undefined) ?? new Map();
	fields.set(key, inner);
	put(inner, rest, value);
}

function plain(fields: Fields): object {
	return Object.fromEntries([...fields].map(([name, each]) => [name, each instanceof Map ? plain(each) : each]));
}
