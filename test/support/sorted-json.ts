/** A JSON value as text in which the order of members does not count. */
export function sortedText(value: unknown): string {
	return JSON.stringify(value, (_, inner: unknown) =>
		typeof inner !== "object" || inner === null || Array.isArray(inner)
			? inner
			: Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)),
	);
}
