/**
 * What the tests of the examples share: the shipped pictures, and the example modules (plain
 * JavaScript) with types.
 */
import { readFile } from "node:fs/promises";

const EXAMPLES = new URL("../../examples/", import.meta.url);

export type Thumbnail = {
	width: number;
	height: number;
	format: string;
	bytes: number;
	image: string;
	ms: number;
};
export type Progress = { step: string; percent: number };
export type Reading = {
	text: string;
	confidence: number;
	lines: { text: string; confidence: number }[];
	words: number;
	ms: number;
};
export type Resize = (input: Record<string, unknown>, signal?: AbortSignal) => AsyncGenerator<Thumbnail>;
export type Reader = {
	read(
		input: Record<string, unknown>,
		options?: { signal?: AbortSignal; onProgress?: (progress: Progress) => void },
	): Promise<Reading>;
	close(): Promise<void>;
};

/** The bytes of a file in `examples/pictures/`. */
export async function picture(name: string): Promise<Buffer> {
	return await readFile(new URL(`pictures/${name}`, EXAMPLES));
}

/** A file in `examples/pictures/` as base64 text. */
export async function base64(name: string): Promise<string> {
	return (await picture(name)).toString("base64");
}

/** The function of `examples/thumbnail/resize.js`. */
export async function loadResize(): Promise<Resize> {
	return ((await import(new URL("thumbnail/resize.js", EXAMPLES).href)) as { resize: Resize }).resize;
}

/** The factory of `examples/ocr/read.js`. */
export async function loadCreateReader(): Promise<() => Reader> {
	return ((await import(new URL("ocr/read.js", EXAMPLES).href)) as { createReader: () => Reader }).createReader;
}
