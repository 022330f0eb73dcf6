/**
 * What the browser remembers for the console, under names of its own. A browser that refuses
 * remembers nothing, and nothing breaks.
 */
const PREFIX = "sluice.console.";

/** Beginning of the names under which inputs of jobs are kept, by endpoint. */
export const INPUTS = "inputs.";

/** The value kept under that name; undefined when there is none. */
export function recall(name: string): unknown {
	try {
		const text = localStorage.getItem(PREFIX + name);
		return text === null ? undefined : JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** Forgets all whose names begin so. */
export function forgetAll(beginning: string): void {
	try {
		for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX + beginning)) localStorage.removeItem(key);
	} catch {
		// Forbidden: there is nothing either.
	}
}

/** Keeps a value that JSON can hold; undefined forgets it. */
export function remember(name: string, value: unknown): void {
	try {
		if (value === undefined) localStorage.removeItem(PREFIX + name);
		else localStorage.setItem(PREFIX + name, JSON.stringify(value));
	} catch {
		// Full or forbidden.
	}
}
