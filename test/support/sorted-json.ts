/** A JSON value as text in which the order of members does not count. */
export function sortedText(value: unknown): string {
	if (Array.isArray(value)) return `[${value.map(sortedText).join()}]`;
	if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "";
	const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${sortedText(member)}`);
	return `{${members.toSorted().join()}}`;
}
