/** Removes the server's credentials from texts that others read: errors of jobs, and the log. */
import type { Mapping } from "./mapping.ts";
import { lookUp, namesIn } from "./template.ts";

/** Characters. Shorter values are no secrets, and parts of many words. */
const SHORTEST = 4;

/** Returns a function that replaces the values of variables which headers of the mapping send, by `***`. */
export function hideCredentials(
	mapping: Mapping,
	env: Readonly<Record<string, string | undefined>>,
): (text: string) => string {
	const secrets = namesIn(mapping)
		.filter((name) => name.startsWith("env."))
		.map((name) => lookUp(name, { env }))
		.filter((value): value is string => typeof value === "string" && value.length >= SHORTEST)
		// One may begin with another.
		.toSorted((a, b) => b.length - a.length);
	return (text) => secrets.reduce((hidden, secret) => hidden.replaceAll(secret, "***"), text);
}
