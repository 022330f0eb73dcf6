/** Whether PostgreSQL can store the text: it rejects U+0000. */
export function isStorable(text: string): boolean {
	return !text.includes("\0");
}

/** Returns the path of a text in a query that PostgreSQL cannot store. `error` is stored as JSON. */
export function unstorable(q: unknown): string | undefined {
	if (typeof q !== "object" || q === null || q instanceof Uint8Array) return undefined;
	for (const name in q) {
		const value = (q as Record<string, unknown>)[name];
		if (typeof value === "string") {
			if (name !== "error" && !isStorable(value)) return name;
			continue;
		}
		const found = unstorable(value);
		if (found !== undefined) return `${name}.${found}`;
	}
	return undefined;
}
