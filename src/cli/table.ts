/** What commands print for people: aligned columns, short moments. */

/**
 * Rows under their headings, in columns as wide as they need to be. Undefined is an empty place.
 */
export function table(
	headings: readonly string[],
	rows: readonly (readonly (string | number | undefined)[])[],
): string {
	const cells = [headings, ...rows].map((row) => row.map((cell) => plain(String(cell ?? ""))));
	const widths = headings.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
	return cells
		.map(
			(row) =>
				`${row
					.map((cell, column) => cell.padEnd(widths[column]!))
					.join("  ")
					.trimEnd()}\n`,
		)
		.join("");
}

/** Names and values, one pair a line; pairs without a value are left out. */
export function pairs(all: readonly (readonly [string, string | number | undefined])[]): string {
	const there = all.filter(([, value]) => value !== undefined);
	const width = Math.max(...there.map(([name]) => name.length));
	return there.map(([name, value]) => `${name.padEnd(width)}  ${plain(String(value))}\n`).join("");
}

/** Text that cannot steer a terminal: names and errors may come from anybody. */
export function plain(text: string): string {
	// oxlint-disable-next-line no-control-regex
	return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, "?");
}

/** A moment of the service for a line: to the second, in UTC. */
export function short(moment: string | undefined): string | undefined {
	return moment?.replace(/^(\S+)T(\S+?)\.\d+Z$/, "$1 $2Z");
}
