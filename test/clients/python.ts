/**
 * What the two Python clients share: JSON as Python prints it, subscripts that fail as Python's do,
 * the SDK's sets of states (protocol A.2, A.3).
 */

/** A pause, ms. Tests let something happen in it instead of sleeping. */
export type Pause = (ms: number) => Promise<void>;

/** Which states `is_completed` names. */
export const COMPLETED: readonly unknown[] = ["COMPLETED", "FAILED", "TIMED_OUT", "CANCELLED"];

/** Which states end a stream or a `run_sync`: CANCELLED is missing (A.2). */
export const FINAL: readonly unknown[] = ["COMPLETED", "FAILED", "TIMED_OUT"];

/** An exception with the name of its Python class. */
export function pythonError(name: string, message: string): Error {
	return Object.assign(new Error(message), { name });
}

/** `json.dumps`: a space after commas and colons, everything beyond ASCII escaped. */
export function dumps(value: unknown): string {
	// Line ends stand between values only: inside strings they are escaped.
	const spaced = JSON.stringify(value, null, 1)
		.replace(/,\n\s*/g, ", ")
		.replace(/\n\s*/g, "");
	return spaced.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** `value["name"]`. */
export function subscript(value: unknown, name: string): unknown {
	if (Array.isArray(value)) throw pythonError("TypeError", "list indices must be integers or slices, not str");
	if (typeof value !== "object" || value === null) throw pythonError("TypeError", "object is not subscriptable");
	if (!Object.hasOwn(value, name)) throw pythonError("KeyError", `'${name}'`);
	return (value as Record<string, unknown>)[name];
}

/** `value.get("output", None)`; null is None. */
export function outputOf(value: unknown): unknown {
	return (value as { output?: unknown }).output ?? null;
}

/**
 * What one answer of `/stream` yields; undefined when the stream ends with it: a final state and
 * nothing left (A.2).
 */
export function yielded(part: unknown): unknown[] | undefined {
	const chunks = subscript(part, "stream");
	if (!Array.isArray(chunks)) throw pythonError("TypeError", "object is not iterable");
	if (FINAL.includes(subscript(part, "status")) && chunks.length === 0) return undefined;
	return chunks.map((chunk) => subscript(chunk, "output"));
}
