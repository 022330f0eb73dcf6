/**
 * Texts of callers. A control character has no use in a name, an id or a URL; PostgreSQL cannot store
 * U+0000, and a terminal obeys others. Pure.
 */

/** The `pattern` of a schema: C0, DEL and C1. */
export const NO_CONTROLS = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$";

const WITHOUT = new RegExp(NO_CONTROLS, "u");
const EACH = /\p{Cc}/gu;

export function hasControls(text: string): boolean {
	return !WITHOUT.test(text);
}

/** Used for what a worker reports, which is never refused for it. */
export function replaceControls(text: string): string {
	return text.replace(EACH, "\ufffd");
}

/** A sentence that may lack its full stop. */
export function withFullStop(text: string): string {
	return text.replace(/\.?$/, ".");
}
