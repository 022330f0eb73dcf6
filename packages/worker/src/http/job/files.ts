/** Files beside the request of a job: those that the server wants first, and those that its answer only names. */
import { RawJson } from "../../raw-json.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { spool, TooLargeError } from "../exchange/spool.ts";
import { JobFailure } from "../job-failure.ts";
import { holds } from "../mapping/condition.ts";
import { isLargeInteger } from "../mapping/exact-json.ts";
import { isObject } from "../mapping/mapping-reader.ts";
import type { Call, Mapping, Upload } from "../mapping/mapping.ts";
import { fill, type Names } from "../mapping/template.ts";
import { binaryJson, parseJson, tooLarge } from "./answer.ts";

/** Resolves with an answer of 2xx. `more`: names beside those of the job. */
export type Send = (call: Call, more: Names) => Promise<Exchange>;

/** Sends one after the other. A list that is missing is empty. */
export async function sendUploads(
	uploads: readonly Upload[],
	{ names, upload }: { names: Names; upload: (call: Call, more: Names) => Promise<void> },
): Promise<void> {
	for (const { each, call } of uploads) {
		const list = fill(each, names) ?? [];
		if (!Array.isArray(list)) throw new JobFailure(`${each.slice(1, -1)} must be a list.`);
		for (const item of list) await upload(call, { each: item });
	}
}

export interface FileOptions {
	answer: Mapping["answer"];
	folder: string | undefined;
	send: Send;
}

/**
 * The output with the files that it names, as `{contentType, bytes, name?, data}`. All of it has the bound of an answer,
 * where base64 counts as the bytes that it stands for.
 */
export async function withFiles(output: RawJson, { answer, folder, send }: FileOptions): Promise<RawJson> {
	const { files, maxBytes } = answer;
	if (!files) return output;
	const { call, where } = files;
	const pieces: Buffer[] = [];
	let left = maxBytes;
	function addPiece(piece: Buffer, bytes: number): void {
		pieces.push(piece);
		left -= bytes;
		if (left < 0) throw new TooLargeError();
	}
	function addText(text: string): void {
		const piece = Buffer.from(text);
		addPiece(piece, piece.length);
	}
	async function addFile(file: unknown): Promise<void> {
		const { headers, body } = await send(call, { file });
		const content = await spool(body, { maxBytes: left, folder });
		try {
			const piece = await binaryJson(content, headers);
			addPiece(piece, Math.ceil(piece.length * 0.75));
		} finally {
			await content.release();
		}
	}
	async function add(value: unknown): Promise<void> {
		if (typeof value !== "object" || value === null || isLargeInteger(value)) return addText(JSON.stringify(value));
		if (isObject(value) && holds(where, value)) return await addFile(value);
		const isList = Array.isArray(value);
		addText(isList ? "[" : "{");
		for (const [index, [name, each]] of Object.entries(value).entries()) {
			addText(`${index > 0 ? "," : ""}${isList ? "" : `${JSON.stringify(name)}:`}`);
			await add(each);
		}
		addText(isList ? "]" : "}");
	}
	try {
		await add(parseJson(output.text));
	} catch (error) {
		throw error instanceof TooLargeError ? tooLarge("The output with its files", maxBytes) : error;
	}
	return new RawJson(Buffer.concat(pieces));
}
