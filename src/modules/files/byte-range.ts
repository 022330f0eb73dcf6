/** The header `Range` (RFC 9110, 14.2). */
import type { ByteRange } from "../../kernel/engine/stored-files.ts";

const ONE = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i;

/**
 * Returns the range of a file that is asked for; `whole` for none, several or one in another form, as the RFC allows;
 * `none` if it has no byte of the file.
 */
export function byteRange(header: string | undefined, bytes: number): ByteRange | "whole" | "none" {
	const [, first = "", last = ""] = ONE.exec(header ?? "") ?? [];
	if (first === "" && last === "") return "whole";
	const start = first === "" ? Math.max(0, bytes - Number(last)) : Number(first);
	const end = first === "" || last === "" ? bytes : Math.min(bytes, Number(last) + 1);
	// A range whose end is before its begin is not one.
	if (first !== "" && last !== "" && Number(last) < start) return "whole";
	return start < end ? { start, end } : "none";
}
