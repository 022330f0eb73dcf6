import type { Param, ParamWithDefault } from "../../api/definition/params.ts";
import { badQuery } from "../../core/errors.ts";
import { type Call, query } from "./call.ts";

/** Returns the value of a query parameter, or its default. Throws `bad_query` if it is invalid. */
export function valueOf<T>(call: Call, param: ParamWithDefault<T>): T;
export function valueOf<T>(call: Call, param: Param<T>): T | undefined;
export function valueOf<T>(call: Call, param: Param<T>): T | undefined {
	if (call.queryText === "") return param.default;
	const text = query(call).get(param.name);
	if (text === null) return param.default;
	const value = param.read(text);
	if (value === undefined) throw badQuery(param.name, text, param.bound);
	return value;
}
