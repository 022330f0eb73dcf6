/** What handlers of the management API read and send (D49). */
import { CURSOR, LIMIT } from "./routes/pages.ts";
import type { Param, ParamWithDefault } from "../../kernel/api/definition/params.ts";
import { SUBMISSION_JSON } from "../../kernel/core/jobs/submission.ts";
import { ApiError } from "../../kernel/core/errors.ts";
import { unprocessable } from "./errors.ts";
import { cursorOf, type PageKey, pageOf } from "./pages.ts";
import { check, type Schema } from "../../kernel/lib/schema.ts";
import { notAnObject, readJson } from "../../kernel/http/exchange/body.ts";
import { type Call, outside, query } from "../../kernel/http/exchange/call.ts";

/** The body, which fits the schema. Throws 400 for text that is no JSON, 413, and 422 for all faults. */
export async function readManaged(call: Call, schema: Schema): Promise<Record<string, unknown>> {
	const body = await outside(call, readJson(call, { ...SUBMISSION_JSON, members: [] }));
	if (!body.scan.ok) throw notAnObject(call, body.scan);
	const value: unknown = JSON.parse(body.text({ start: 0, end: body.size }));
	const faults = check(schema, value);
	if (faults.length > 0) throw unprocessable(faults);
	return value as Record<string, unknown>;
}

/** Returns the body as {@link readManaged} without members that are null. Throws 422 if none is left. */
export async function readChange<T extends object>(call: Call, schema: Schema): Promise<Partial<T>> {
	const given = Object.entries(await readManaged(call, schema)).filter(([, value]) => value !== null);
	const names = Object.keys(schema.properties ?? {}).join(", ");
	if (given.length === 0) throw unprocessable([{ field: "", message: `must have at least one of ${names}.` }]);
	return Object.fromEntries(given) as Partial<T>;
}

/** The page that is asked for. Throws 422 for what is no cursor. */
export function pageAsked(call: Call): { after: PageKey | undefined; limit: number } {
	return { after: checkedParam(call, CURSOR), limit: checkedParam(call, LIMIT) };
}

/** The page that is asked for. `items`: all, or as many of them as it may need, and one more. */
export function paged<T>(call: Call, { items, keyOf }: { items: readonly T[]; keyOf: (item: T) => PageKey }) {
	const { items: shown, next } = pageOf(items, keyOf, pageAsked(call));
	return { items: shown, pagination: { nextCursor: next ? cursorOf(next) : null, hasNextPage: next !== undefined } };
}

/** Throws 422 for a text that is not valid, and for a name that is there twice. */
export function checkedParam<T>(call: Call, param: ParamWithDefault<T>): T;
export function checkedParam<T>(call: Call, param: Param<T>): T | undefined;
export function checkedParam<T>(call: Call, { name, read, bound, ...param }: Param<T>): T | undefined {
	const [text, ...more] = query(call).getAll(name);
	if (text === undefined) return param.default;
	if (more.length > 0) throw unprocessable([{ field: name, message: "must be given once." }]);
	const value = read(text);
	if (value === undefined) throw unprocessable([{ field: name, message: `must be ${bound}.` }]);
	return value;
}

export function missing(kind: string, id: string, list: string): ApiError {
	return new ApiError("resource_not_found", { kind, id, list: `GET ${list}` });
}
