/**
 * Files in an input: the text says `"@file:NAME"` where the file's base64 is to stand, so that it
 * stays readable.
 */

/** The text that stands for a file. */
export const markOf = (name: string): string => `@file:${name}`;

/** The text with its files in place, or the name of one that is not there. */
export async function withFiles(text: string, files: readonly File[]): Promise<{ text: string } | { missing: string }> {
	let filled = text;
	for (const file of files) {
		const mark = JSON.stringify(markOf(file.name));
		if (filled.includes(mark)) filled = filled.replaceAll(mark, `"${await base64(file)}"`);
	}
	const missing = /(?<!\\)"@file:((?:[^"\\]|\\.)*)"/.exec(filled)?.[1];
	return missing === undefined ? { text: filled } : { missing };
}

function base64(file: File): Promise<string> {
	return new Promise((resolve, reject) => {
		const reader = new FileReader();
		reader.addEventListener("load", () => resolve((reader.result as string).replace(/^[^,]*,/, "")));
		reader.addEventListener("error", () => reject(reader.error ?? new Error(file.name)));
		reader.readAsDataURL(file);
	});
}
