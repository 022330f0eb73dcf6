/** `${NAME}` in `sluice.yaml`: a variable of the service, which its workers do not get. */
import { isObject } from "../lib/schema.ts";
import { isOwnSecret } from "./options.ts";
import type { Env } from "../lib/env.ts";

/**
 * Matches a value that stands for the variable of this name. With a further `$` before it, it is the text itself, as in
 * Compose files.
 */
const VARIABLE = /^\$(\$*)\{([A-Za-z_][A-Za-z0-9_]*)\}$/;

export interface Variables {
	/** Names that the file has used. */
	used: string[];
	/** Returns the value of a variable for its name, everything else as it is. `at`: of the value, for problems. */
	valueOf(value: unknown, at: string): unknown;
}

export function variables({ env }: { env: Env }, problems: string[]): Variables {
	const used: string[] = [];
	return {
		used,
		valueOf(value, at) {
			const [text, more, name] = (typeof value === "string" && VARIABLE.exec(value)) || [];
			if (text === undefined || name === undefined) return value;
			if (more !== "") return text.slice(1);
			if (isOwnSecret(name)) {
				problems.push(
					`${at}: the variable ${name} is a secret of the service itself, which no worker gets. Use a variable of ` +
						`another name; the text ${text} itself is written $${text}.`,
				);
				return "";
			}
			used.push(name);
			if (!env[name]) problems.push(`${at}: the variable ${name} is not set.`);
			return env[name] ?? "";
		},
	};
}

/** Returns the form in which a file must have `text`, so that a text of others is never read as a variable. */
export function asWritten(text: string): string {
	return VARIABLE.test(text) ? `$${text}` : text;
}

/** Returns a value with variables in all its texts replaced. */
export function withVariables(value: unknown, at: string, variables: Variables): unknown {
	if (Array.isArray(value)) return value.map((item, index) => withVariables(item, `${at}.${index}`, variables));
	if (!isObject(value)) return variables.valueOf(value, at);
	const members = Object.entries(value).map(([name, member]) => [
		name,
		withVariables(member, `${at}.${name}`, variables),
	]);
	return Object.fromEntries(members) as unknown;
}
