/** Removes the server's credentials from texts that others read: errors of jobs, and the log. */
import type { Mapping } from "./mapping.ts";
import { lookUp, namesIn } from "./template.ts";

/** Characters. Shorter values are no secrets, and parts of many words. */
const SHORTEST = 4;

/** Removes credentials from a text. `isCut`: it may end within one, whose start is removed, too. */
export type Hide = (text: string, isCut?: boolean) => string;

/** Replaces the values of variables which headers of the mapping send, by `***`, also as JSON has them in its texts. */
export function hideCredentials(mapping: Mapping, env: Readonly<Record<string, string | undefined>>): Hide {
	const secrets = namesIn(mapping)
		.filter((name) => name.startsWith("env."))
		.map((name) => lookUp(name, { env }))
		.filter((value): value is string => typeof value === "string" && value.length >= SHORTEST)
		.flatMap((value) => [value, JSON.stringify(value).slice(1, -1)])
		// One may begin with another.
		.toSorted((a, b) => b.length - a.length);
	return (text, isCut = false) => {
		const hidden = secrets.reduce((rest, secret) => rest.replaceAll(secret, "***"), text);
		const start = isCut ? Math.max(0, ...secrets.map((secret) => startAtEnd(hidden, secret))) : 0;
		return start === 0 ? hidden : `${hidden.slice(0, -start)}***`;
	};
}

/** Length of the longest start of a secret that a text ends with. */
function startAtEnd(text: string, secret: string): number {
	let length = Math.min(secret.length - 1, text.length);
	while (length > 0 && !text.endsWith(secret.slice(0, length))) length -= 1;
	return length;
}
