/** What differs between two settings of an endpoint (D39). */
import { isSame } from "../../lib/same.ts";
import { isObject } from "../../lib/schema.ts";

/** Maximum number of endpoints in one comparison of `/v1`. */
export const MOST_COMPARED = 100;

export interface SettingChange {
	/** Path, such as `retention.run`. */
	field: string;
	action: "add" | "change" | "remove";
	/** Neither is shown of secrets. */
	before?: unknown;
	after?: unknown;
}

const SECRET = /^(?:webhookSecret$|env\.)/;

/** One change for each member that differs; a list is a single value. Takes JSON values. */
export function changesBetween(before: unknown, after: unknown, field = ""): SettingChange[] {
	if (isObject(before) && isObject(after))
		return namesOf(before, after).flatMap((name) =>
			changesBetween(own(before, name), own(after, name), field === "" ? name : `${field}.${name}`),
		);
	if (isSame(before, after)) return [];
	const action = before === undefined ? "add" : after === undefined ? "remove" : "change";
	return [{ field, action, ...(!SECRET.test(field) && { before, after }) }];
}

function namesOf(...objects: Record<string, unknown>[]): string[] {
	return [...new Set(objects.flatMap((each) => Object.keys(each)))];
}

function own(object: Record<string, unknown>, name: string): unknown {
	return Object.hasOwn(object, name) ? object[name] : undefined;
}
