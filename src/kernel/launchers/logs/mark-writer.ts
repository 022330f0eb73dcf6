/** Writes the marks of a log into the file beside it, one write at a time. */
import { appendMarks, lineOf, type Mark, MARKS_BYTES, shortenMarks } from "./mark-file.ts";

export function markWriter() {
	let unwritten = "";
	/** Characters since the file was shortened. */
	let written = 0;
	let writing: Promise<void> | undefined;

	/** Lines without times are better than no lines, so a failure loses them. */
	async function writeAll(path: string): Promise<void> {
		while (unwritten !== "") {
			const lines = unwritten;
			unwritten = "";
			await appendMarks(path, lines).catch(() => {});
			written += lines.length;
			if (written < MARKS_BYTES / 2) continue;
			written = 0;
			await shortenMarks(path).catch(() => {});
		}
	}

	return {
		/** `path`: of the log. */
		write(path: string, mark: Mark): void {
			unwritten += lineOf(mark);
			writing ??= writeAll(path).finally(() => (writing = undefined));
		},
		/** Resolves once all marks are written. */
		settled: async (): Promise<void> => await writing,
	};
}
