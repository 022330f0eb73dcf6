/** What handlers of the management API read and send (D49). */
import { CURSOR } from "../../api/management/pages.ts";
import type { Param, ParamWithDefault } from "../../api/definition/params.ts";
import { SUBMISSION_JSON } from "../../core/jobs/submission.ts";
import { ApiError, unprocessable } from "../../core/errors.ts";
import { type PageKey, pageOf } from "../../core/management/pages.ts";
import { check, type Schema } from "../../lib/schema.ts";
import type { EpochMs } from "../../lib/time.ts";
import { notAnObject, readJson } from "../exchange/body.ts";
import { type Call, outside, query } from "../exchange/call.ts";

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

interface List {
	/** Its operation. */
	list: string;
	limit: ParamWithDefault<number>;
}

/** Throws 422 for a cursor that is not of this list. */
export function pageAsked(call: Call, { list, limit }: List): { after: PageKey | undefined; limit: number } {
	return { after: cursorIn(call, list), limit: checkedParam(call, limit) };
}

/** The page that is asked for. `items`: all, or as many of them as it may need, and one more. */
export function paged<T>(call: Call, q: List & { items: readonly T[]; keyOf: (item: T) => PageKey }) {
	const found = pageOf(q.items, q.keyOf, pageAsked(call, q));
	const { next } = found;
	const nextCursor = next ? cursorOf(call, [q.list, next.createdAt, next.id]) : null;
	return { items: found.items, pagination: { nextCursor, hasNextPage: next !== undefined } };
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

/** Encrypted with a key of the service, which proves where it comes from. */
function cursorOf(call: Call, position: readonly [list: string, createdAt: EpochMs, id: string]): string {
	return Buffer.from(call.engine.access.encryption.encrypt(JSON.stringify(position))).toString("base64url");
}

function cursorIn(call: Call, list: string): PageKey | undefined {
	const cursor = query(call).get(CURSOR.name);
	if (cursor === null) return undefined;
	const opened = call.engine.access.encryption.decrypt(Buffer.from(cursor, "base64url").toString());
	const position: unknown = opened.ok && opened.text.startsWith("[") ? JSON.parse(opened.text) : undefined;
	if (!Array.isArray(position) || position[0] !== list)
		throw unprocessable([
			{ field: "cursor", message: "must be pagination.nextCursor of a page of this list, or be left out." },
		]);
	const [, createdAt, id] = position as [string, EpochMs, string];
	return { createdAt, id };
}

export function missing(kind: string, id: string, list: string): ApiError {
	return new ApiError("resource_not_found", { kind, id, list: `GET ${list}` });
}
