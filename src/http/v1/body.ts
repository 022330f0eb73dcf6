/** `/v1` bodies: small JSON objects (D4). */
import { SUBMISSION_JSON } from "../../core/submission.ts";
import { notAnObject, readJson } from "../body.ts";
import { type Call, outside } from "../call.ts";

/** Bounds of submissions on nesting and digits. */
const BOUNDS = { ...SUBMISSION_JSON, members: [] };

/** The JSON object; throws 400 and 413. */
export async function readObject(call: Call): Promise<Record<string, unknown>> {
	const { scan, size, text } = await outside(call, readJson(call, BOUNDS));
	if (!scan.ok || scan.kind !== "object") throw notAnObject(call, scan);
	return JSON.parse(text({ start: 0, end: size })!) as Record<string, unknown>;
}

/** Reads the body of operations without one: accepts none, an empty one or an object; else 400. */
export async function readNothing(call: Call): Promise<void> {
	const { scan, size } = await outside(call, readJson(call, BOUNDS));
	if (size > 0 && (!scan.ok || scan.kind !== "object")) throw notAnObject(call, scan);
}
