import { isObject } from "./schema.ts";

/** Whether two JSON values are the same. The order of members does not matter. */
export function isSame(one: unknown, other: unknown): boolean {
	return canonical(one) === canonical(other);
}

/** JSON with the members of each object in one order. */
export function canonical(value: unknown): string | undefined {
	return JSON.stringify(value, (_, each: unknown) =>
		isObject(each) ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1))) : each,
	);
}
