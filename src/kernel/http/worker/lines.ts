import { badRequest } from "../../core/errors.ts";
import { LARGE_BYTES } from "../../lib/json/json-text.ts";
import { LINES_TOGETHER } from "../../core/jobs/report.ts";

const NEWLINE = 0x0a;

/**
 * Non-empty lines. Large ones are copied, since a transfer to the database thread takes the whole underlying memory.
 */
export function linesOf(body: Buffer): Buffer[] {
	const lines: Buffer[] = [];
	for (let start = 0; start < body.length; ) {
		if (body[start] === NEWLINE) {
			start += 1;
			continue;
		}
		if (lines.length === LINES_TOGETHER)
			throw badRequest([{ field: "body", message: `must be at most ${LINES_TOGETHER} lines.` }]);
		const found = body.indexOf(NEWLINE, start);
		const end = found < 0 ? body.length : found;
		const line = body.subarray(start, end);
		lines.push(line.length >= LARGE_BYTES ? Buffer.from(line) : line);
		start = end + 1;
	}
	return lines;
}
