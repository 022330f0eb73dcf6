/** Errors that refuse a request; all codes are in `error-table.ts`. */
import type { Fault } from "../lib/schema.ts";
import { type ErrorCode, type ErrorEntry, ERRORS, type ModuleError } from "./error-table.ts";

export class ApiError extends Error {
	readonly code: string;
	readonly status: number;
	readonly details: readonly Fault[] | undefined;
	/** Methods for the `Allow` header of a 405. */
	readonly allow: string | undefined;
	/** Seconds; `values.retryAfter` overrides the table. */
	readonly retryAfter: number | undefined;
	/** Whether the service is not at fault although the status is 500 or more. */
	readonly isExpected: boolean;

	constructor(
		error: ErrorCode | ModuleError,
		values: Readonly<Record<string, string | number>> = {},
		details?: readonly Fault[],
	) {
		const entry: ErrorEntry = typeof error === "string" ? ERRORS[error] : error;
		super(entry.sentence.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? "")));
		this.code = typeof error === "string" ? error : error.code;
		this.status = entry.status;
		this.isExpected = entry.isExpected === true;
		this.details = details;
		this.allow = values["allow"]?.toString();
		this.retryAfter = values["retryAfter"] === undefined ? entry.retryAfter : Number(values["retryAfter"]);
	}
}

/** Returns the body of an error. It has no member `status` or `id` (D3). */
export function errorBody(error: ApiError): string {
	return JSON.stringify({
		error: error.message,
		code: error.code,
		...(error.details ? { details: error.details } : {}),
	});
}

/** `bound` says what the parameter must be. */
export function badQuery(name: string, value: string, bound: string): ApiError {
	const shown = JSON.stringify(value.slice(0, 80));
	return new ApiError("bad_query", { name, value: shown, bound }, [
		{ field: name, message: `is ${shown}; it must be ${bound}.` },
	]);
}

/** At least one fault; the sentence names the first two. */
export function badRequest(faults: readonly Fault[]): ApiError {
	return withFaults("bad_request", faults);
}

/** `error`: its sentence has {count} and {first}. */
export function withFaults(error: ErrorCode | ModuleError, faults: readonly Fault[]): ApiError {
	const sentences = faults.slice(0, 2).map(({ field, message }) => `${field === "" ? "the body" : field} ${message}`);
	const count = faults.length === 1 ? "a bad field" : `${faults.length} bad fields`;
	const more = faults.length > 2 ? ` And ${faults.length - 2} more.` : "";
	return new ApiError(error, { count, first: sentences.join(" ") + more }, faults);
}

/** The 400 for a store's error that a cursor is invalid; any other error as it is. */
export function invalidCursor(error: unknown, cursor: string | undefined): unknown {
	return error instanceof RangeError && cursor !== undefined
		? badQuery("cursor", cursor, "`next` of the page before")
		: error;
}
