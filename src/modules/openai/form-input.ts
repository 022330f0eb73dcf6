/** The input of a job for a request that is a form (D32, protocol C.1): files in base64, since an input is JSON. */
import {
	asOne,
	type JsonBlocks,
	type JsonText,
	LARGE_BYTES,
	piecesOf,
	sizeOf,
	stringOf,
} from "../../kernel/lib/json/json-text.ts";
import { BlockCollector } from "../../kernel/http/exchange/block-collector.ts";
import { BodyTooLarge } from "../../kernel/http/exchange/body.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import { readForm } from "../../kernel/http/exchange/form.ts";
import type { FormFile } from "../../kernel/http/exchange/form-parser.ts";
import { hold } from "../../kernel/http/memory/call-memory.ts";
import { openaiInput } from "./translation.ts";

export const FORM_TYPE = "multipart/form-data";

/** OpenAI's routes take at most 16 pictures and a mask. */
export const PARTS = { fields: 256, fieldBytes: 1024 * 1024, files: 32 };

export interface FormRequest {
	input: JsonText;
	stream: boolean;
	model: string | undefined;
}

/** Throws as {@link readForm}. The whole input has at most the bytes of a body that is JSON. */
export async function formInput(call: Call, route: string): Promise<FormRequest> {
	const { maxBody } = call;
	// Bytes of the body whose base64 fits.
	const bytes = Math.floor((maxBody * 3) / 4);
	const memory = formMemory(call, bytes);
	/** JSON of the values by name, in the order of their first ones. */
	const values = new Map<string, JsonText[]>();
	const known: { stream?: string; model?: string } = {};
	for await (const part of readForm(call, { ...PARTS, bytes, fileBytes: bytes })) {
		const { name } = part;
		let value: JsonText;
		if ("content" in part) value = await fileJson(part, memory.add);
		else {
			if (name === "stream" || name === "model") known[name] = part.value;
			value = JSON.stringify(part.value);
			await memory.add(value.length);
		}
		values.set(name, [...(values.get(name) ?? []), value]);
	}
	const members = [...values].map(([name, each], index) => memberOf(index > 0 ? "," : "", name, each));
	const body = asOne(piecesOf("{", ...members.flat(), "}"));
	const input = openaiInput(route, sizeOf(body) < LARGE_BYTES ? stringOf(body) : body, FORM_TYPE);
	return { input, stream: /^(?:true|1)$/i.test(known.stream ?? ""), model: known.model };
}

/** A name with brackets at its end has a list, also of one value. */
function memberOf(comma: string, name: string, values: readonly JsonText[]): JsonText[] {
	const head = `${comma}${JSON.stringify(name)}:`;
	if (values.length === 1 && !name.endsWith("[]")) return [head, ...values];
	return [`${head}[`, ...values.flatMap((value, index) => (index > 0 ? [",", value] : [value])), "]"];
}

export interface FormMemory {
	add(size: number): Promise<void>;
}

/** Counts what is kept, and makes the reader wait until there is memory for it. `bytes`: bound of the form. */
export function formMemory(call: Call, bytes: number): FormMemory {
	const { maxBody, req } = call;
	let kept = 0;
	let covered = 0;
	return {
		async add(size) {
			kept += size;
			if (kept > maxBody) throw new BodyTooLarge(undefined, bytes);
			if (kept <= covered) return;
			const declared = Number(req.headers["content-length"] ?? 0);
			covered = Math.min(maxBody, Math.max(2 * kept, Math.ceil((declared * 4) / 3)));
			await hold(call, covered);
		},
	};
}

/** `{name, type, base64}`. */
async function fileJson({ fileName, type, content }: FormFile, add: FormMemory["add"]): Promise<JsonText> {
	const head = `{"name":${JSON.stringify(fileName)},"type":${JSON.stringify(type)},"base64":"`;
	return asOne(piecesOf(head, await base64Of(content as AsyncIterable<Buffer>, add), '"}'));
}

/** Keeps the base64 of each piece, and no piece. `add` is called with the characters that are kept. */
export async function base64Of(content: AsyncIterable<Uint8Array>, add: FormMemory["add"]): Promise<JsonText> {
	const blocks = new BlockCollector(undefined);
	let rest: Uint8Array = Buffer.alloc(0);
	const keep = async (bytes: Uint8Array): Promise<void> => {
		const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");
		await add(text.length);
		blocks.add(Buffer.from(text, "latin1"));
	};
	for await (const piece of content) {
		const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
		const whole = bytes.length - (bytes.length % 3);
		rest = bytes.subarray(whole);
		if (whole > 0) await keep(bytes.subarray(0, whole));
	}
	if (rest.length > 0) await keep(rest);
	return ownBlocks(blocks.finish());
}

/** The memory of a small block is shared, and that of an input is freed with it. */
function ownBlocks(blocks: JsonBlocks): JsonText {
	return blocks.length === 1 && blocks[0]!.length < LARGE_BYTES ? stringOf(blocks) : blocks;
}
