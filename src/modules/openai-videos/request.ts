/** Reads a request for a video, JSON or a form, as the JSON of the same request (D62). */
import { badRequest } from "../../kernel/core/errors.ts";
import { asOne, type JsonBlocks, type JsonText, piecesOf } from "../../kernel/lib/json/json-text.ts";
import type { Fault } from "../../kernel/lib/schema.ts";
import { notAnObject, readJson } from "../../kernel/http/exchange/body.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import { isForm, readForm } from "../../kernel/http/exchange/form.ts";
import { badForm } from "../../kernel/http/exchange/form-parser.ts";
import { inSlices } from "../../kernel/http/exchange/reply.ts";
import { SUBMISSION_JSON } from "../../kernel/core/jobs/submission.ts";
import { blocksOf, type Members, membersOf, partOf } from "../openai/background/members.ts";
import { base64Of, type FormMemory, formMemory, PARTS } from "../openai/form-input.ts";
import { LONGEST_PROMPT } from "./routes.ts";

const NAMES = ["prompt", "model", "seconds", "size", "input_reference"] as const;

/** Characters of `model`, `seconds` and `size`, which are shown with each answer. */
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
	/** What `input_reference` stands for if the service has to read it: a file of the form, or one that was uploaded. */
	picture?: Picture;
	fileId?: string;
	memory: FormMemory;
}

/** Throws 400, with the member that is wrong. */
export async function videoRequest(call: Call): Promise<VideoRequest> {
	// Bytes whose base64 fits into a body.
	const memory = formMemory(call, Math.floor((call.maxBody * 3) / 4));
	const { body, picture } = isForm(call.req) ? await readVideoForm(call, memory) : { body: await readObject(call) };
	const members = (await inSlices(membersOf(body, NAMES)))!;
	const value = (name: (typeof NAMES)[number]): unknown =>
		members[name] && members[name].kind !== "null" ? JSON.parse(partOf(body, members[name])) : undefined;
	const faults = [promptFault(value("prompt"))];
	for (const name of ["model", "seconds", "size"] as const) faults.push(textFault(name, value(name)));
	const reference = picture ? undefined : value("input_reference");
	faults.push(referenceFault(reference));
	const found = faults.filter((fault) => fault !== undefined);
	if (found.length > 0) throw badRequest(found);
	const fileId = (reference as { file_id?: string } | undefined)?.file_id;
	return { body, members, memory, ...(picture && { picture }), ...(fileId !== undefined && { fileId }) };
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
	const { image_url: url, file_id: file } = (typeof value === "object" ? value : {}) as Record<string, unknown>;
	const isUrl = typeof url === "string" && /^(?:https?:\/\/|data:)/i.test(url);
	if ((isUrl && file === undefined) || (typeof file === "string" && url === undefined)) return undefined;
	return {
		field: "input_reference",
		message: "must be a file, or have either file_id or image_url, which is an http, https or data: URL.",
	};
}

/** The file may come before the fields. */
async function readVideoForm(call: Call, memory: FormMemory): Promise<{ body: JsonBlocks; picture?: Picture }> {
	const bytes = Math.floor((call.maxBody * 3) / 4);
	const root: Container = [new Map()];
	let picture: Picture | undefined;
	for await (const part of readForm(call, { ...PARTS, files: 1, bytes, fileBytes: bytes })) {
		if (!("content" in part)) {
			await memory.add(part.value.length);
			put(root, pathOf(part.name), part.value);
			continue;
		}
		if (part.name !== "input_reference")
			throw badForm(`'${part.name.slice(0, 80)}' is a file, and only input_reference may be one.`);
		const data = await base64Of(part.content as AsyncIterable<Buffer>, memory.add);
		picture = { type: part.type, data };
	}
	// Replaced by what the picture becomes.
	if (picture) root[0].set("input_reference", null);
	return { body: blocksOf(JSON.stringify(plain(root[0]))), ...(picture && { picture }) };
}

/** Names of clients are keys of maps: as members of objects some would be inherited ones. */
type Value = string | null | Value[] | Map<string, Value>;
type Container = [Map<string, Value>];

/** `a[b][]` is `["a", "b", ""]`. */
function pathOf(name: string): string[] {
	const [, first = name, rest = ""] = /^([^[\]]+)((?:\[[^[\]]*\])+)$/.exec(name) ?? [];
	const path = [first, ...rest.split("]").slice(0, -1)].map((each, at) => (at === 0 ? each : each.slice(1)));
	if (path.length > DEEPEST) throw badForm(`the name of a part has over ${DEEPEST - 1} brackets.`);
	return path;
}

/** A name that repeats has a list. */
function put([root]: Container, path: readonly string[], value: string): void {
	let into: Map<string, Value> = root;
	for (const [at, key] of path.entries()) {
		const next = path[at + 1];
		const there = into.get(key);
		if (next === undefined) {
			if (there instanceof Map) throw twoForms(path);
			return void into.set(key, there === undefined ? value : [...(Array.isArray(there) ? there : [there]), value]);
		}
		if (next === "" && at + 2 === path.length) {
			if (there !== undefined && !Array.isArray(there)) throw twoForms(path);
			return void into.set(key, [...(there ?? []), value]);
		}
		if (there !== undefined && !(there instanceof Map)) throw twoForms(path);
		const inner: Map<string, Value> = there ?? new Map<string, Value>();
		into.set(key, inner);
		into = inner;
	}
}

const twoForms = (path: readonly string[]): Error => badForm(`'${path[0]!.slice(0, 80)}' is both a value and an object.`);

function plain(value: Value): unknown {
	if (Array.isArray(value)) return value.map(plain);
	return value instanceof Map ? Object.fromEntries([...value].map(([name, each]) => [name, plain(each)])) : value;
}

/** JSON of the `input_reference` that a worker gets. */
export function referenceJson({ type, data }: Picture): JsonText {
	const media = /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : "application/octet-stream";
	return asOne(piecesOf(`{"image_url":"data:${media};base64,`, data, '"}'));
}
