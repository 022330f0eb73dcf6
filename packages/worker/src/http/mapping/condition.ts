/** Conditions on JSON of the server. */
import { isDeepStrictEqual } from "node:util";
import type { Condition, FailedRule } from "./mapping.ts";
import { atPointer, textOf } from "./template.ts";

export function holds({ at, in: values, atMost }: Condition, value: unknown): boolean {
	const found = atPointer(value, at);
	if (atMost !== undefined) return typeof found === "number" && found <= atMost;
	if (values === undefined) return found !== undefined && found !== null && found !== false;
	return values.some((each) => isDeepStrictEqual(each, found));
}

/** The error of the first rule that holds, of any length. Undefined if none does. */
export function failureIn(rules: readonly FailedRule[], value: unknown, text: string): string | undefined {
	const rule = rules.find((each) => holds(each, value));
	if (!rule) return undefined;
	const message = rule.message === undefined ? undefined : atPointer(value, rule.message);
	// The kit takes a job whose error is an empty text for one that did not fail.
	return textOf(message ?? "") || text || "The server's answer is a failure.";
}
