/** Reads the few elements of a bucket's answers that are needed. None of them has attributes. */

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function decoded(text: string): string {
	return text.replace(/&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(\w{2,4}));/g, (all, decimal, hex, name) => {
		if (name !== undefined) return ENTITIES[name as string] ?? all;
		const code = decimal === undefined ? Number.parseInt(hex as string, 16) : Number(decimal);
		return code <= 0x10ffff ? String.fromCodePoint(code) : all;
	});
}

/** What is in each element of this name, which has none of its own name inside. */
export function elementsOf(xml: string, name: string): string[] {
	const [begin, end] = [`<${name}>`, `</${name}>`];
	const found: string[] = [];
	for (let at = xml.indexOf(begin); at >= 0; ) {
		const from = at + begin.length;
		const to = xml.indexOf(end, from);
		if (to < 0) break;
		found.push(xml.slice(from, to));
		at = xml.indexOf(begin, to);
	}
	return found;
}

/** The text of the first element of this name; undefined if there is none. */
export function textOf(xml: string, name: string): string | undefined {
	const [first] = elementsOf(xml, name);
	return first === undefined ? undefined : decoded(first.trim());
}
