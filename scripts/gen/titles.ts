/** Titles of tests that begin with the ids of rules, read from the source text. */

/** A test, or a group of tests, by the rules that its title names. */
export interface Title {
	ids: string[];
	/** The title behind the ids. */
	text: string;
}

/**
 * A title is the first argument of a call, as `it("...")`, `it.each(...)("...")` or
 * `describe("...")`.
 */
const FIRST_ARGUMENT = /\(\s*(["'`])((?:spec \d|D\d|[A-C]\.\d|protocol ).*?[^\\])\1\s*[,)]/g;

/** A place in the wire protocol: known there, no rule here. */
const ELSEWHERE = /^(?:protocol )?[A-C](?:\.\d+)?$/;

/**
 * The titles of a source text. `ranges` are all ids in their order, for titles such as `spec 2.3 to
 * 2.5`.
 */
export function titlesIn(source: string, ids: readonly string[]): Title[] {
	const found: Title[] = [];
	for (const [, , title] of source.matchAll(FIRST_ARGUMENT)) {
		const colon = title!.indexOf(": ");
		const head = colon < 0 ? title! : title!.slice(0, colon);
		const named = namedIn(head, ids);
		if (named && named.length > 0)
			found.push({
				ids: named,
				text: colon < 0 ? "" : title!.slice(colon + 2).replaceAll('\\"', '"'),
			});
	}
	return found;
}

/** The ids of rules in the beginning of a title; undefined when it is no list of ids. */
function namedIn(head: string, ids: readonly string[]): string[] | undefined {
	const named: string[] = [];
	let inSpec = false;
	for (const token of head.split(", ")) {
		const [first, last] = token.split(" to ");
		if (ELSEWHERE.test(first!)) continue;
		const from = full(first!, inSpec);
		const to = last === undefined ? from : full(last, from?.startsWith("spec ") ?? false);
		if (from === undefined || to === undefined) return undefined;
		inSpec = from.startsWith("spec ");
		named.push(...(from === to ? [from] : ids.slice(ids.indexOf(from), ids.indexOf(to) + 1)));
	}
	return named;
}

/** `spec 2.4` and `D16` as they stand; `3` after an id of the specification. */
function full(token: string, inSpec: boolean): string | undefined {
	if (/^(?:spec \d+(?:\.\d+)?|D\d+)$/.test(token)) return token;
	return inSpec && /^\d+(?:\.\d+)?$/.test(token) ? `spec ${token}` : undefined;
}
