/** PostgreSQL cannot store U+0000, and a terminal obeys other control characters. */

/** The `pattern` of a schema: C0, DEL and C1. */
export const NO_CONTROLS = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$";

/** The `pattern` of a schema: a date and time with zone. */
export const DATE_TIME = "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d(:\\d\\d(\\.\\d{1,9})?)?(Z|[+-]\\d\\d:\\d\\d)$";

const WITHOUT = new RegExp(NO_CONTROLS, "u");
const EACH = /\p{Cc}/gu;

export function hasControls(text: string): boolean {
	return !WITHOUT.test(text);
}

/** Used for what a worker reports, which is never refused for it. */
export function replaceControls(text: string): string {
	return text.replace(EACH, "\ufffd");
}

/** `<class 'ValueError'>`, as Python prints it, as `ValueError`. */
export function className(type: string): string {
	return type.replace(/^<class '(.*)'>$/, "$1");
}

export function asSentence(text: string): string {
	return withFullStop(text.charAt(0).toUpperCase() + text.slice(1));
}

export function withFullStop(text: string): string {
	return text.replace(/\.?$/, ".");
}

/** One word for a POSIX shell. */
export function shellQuoted(text: string): string {
	return `'${text.replaceAll("'", `'\\''`)}'`;
}
