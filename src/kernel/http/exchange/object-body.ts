/** `/v1` bodies: small JSON objects (D4). */
import { SUBMISSION_JSON } from "../../core/jobs/submission.ts";
import { notAnObject, readJson } from "./body.ts";
import { type Call, outside } from "./call.ts";

/** The same bounds on nesting and digits as for submissions. */
const BOUNDS = { ...SUBMISSION_JSON, members: [] };

/** Reads a body that must be a JSON object. Throws 400 and 413. */
export async function readObject(call: Call): Promise<Record<string, unknown>> {
	const body = await outside(call, readJson(call, BOUNDS));
	if (!body.scan.ok || body.scan.kind !== "object") throw notAnObject(call, body.scan);
	return JSON.parse(body.text({ start: 0, end: body.size })) as Record<string, unknown>;
}

/** Reads a body that an operation does not use: none, an empty one or an object. Throws 400 for any other. */
export async function readNothing(call: Call): Promise<void> {
	const { scan, size } = await outside(call, readJson(call, BOUNDS));
	if (size > 0 && (!scan.ok || scan.kind !== "object")) throw notAnObject(call, scan);
}
