/**
 * Files in an input: the text says `"@file:NAME"` where the file's base64 is to stand, so that it
 * stays readable.
 */
import { base64Of } from "./media.ts";

/**
 * Bytes of a file that a job can hold: /run takes 10 MiB of JSON, of which base64 needs four bytes for three. The rest
 * is for the other members of the input.
 */
export const MOST_FILE_BYTES = 7_500_000;

/** The text that stands for a file. */
export const markOf = (name: string): string => `@file:${name}`;

/** The text with its files in place, or the name of one that is not there. */
export async function withFiles(text: string, files: readonly File[]): Promise<{ text: string } | { missing: string }> {
	let filled = text;
	for (const file of files) {
		const mark = JSON.stringify(markOf(file.name));
		if (filled.includes(mark)) filled = filled.replaceAll(mark, `"${base64Of(await dataUrl(file))}"`);
	}
	const missing = /(?<!\\)"@file:((?:[^"\\]|\\.)*)"/.exec(filled)?.[1];
	return missing === undefined ? { text: filled } : { missing };
}

/** A file as a data URL. Rejects if the browser cannot read it, such as after its removal. */
export function dataUrl(file: File): Promise<string> {
	return new Promise((resolve, reject) => {
		const reader = new FileReader();
		reader.addEventListener("load", () => resolve(reader.result as string));
		reader.addEventListener("error", () => reject(reader.error ?? new Error(file.name)));
		reader.readAsDataURL(file);
	});
}
