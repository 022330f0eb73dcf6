/** What a fuzzer runs: a generator of cases and a check of one case. */
import type fc from "fast-check";

/** A case: anything that JSON can hold, so that it can be mutated, shrunk and stored. */
export type Case = null | boolean | number | string | Case[] | { [name: string]: Case };

/** One thing under test. `check` throws for a finding and accepts any case of the generator's shape. */
export interface Target<T extends Case = any> {
	readonly name: string;
	readonly cases: fc.Arbitrary<T>;
	readonly check: (value: T) => void | Promise<void>;
	/** Whose coverage guides it: beginnings of paths in `src/`. */
	readonly sources: readonly string[];
	/** Cases of one turn; default 3000. */
	readonly turn?: number;
	/** Cases between two readings of the coverage; default 50. 1 where a case cannot be repeated. */
	readonly batch?: number;
	/** CPU time of one case that is a finding, ms; default 1000. */
	readonly slowMs?: number;
	/** Discards what a failed case left behind. */
	readonly reset?: () => Promise<void>;
	readonly close?: () => Promise<void>;
}

/** Keeps the type of the cases between generator and check. */
export function target<T extends Case>(definition: Target<T>): Target<T> {
	return definition;
}

/** Throws with both values unless they are equal as JSON. */
export function same(what: string, found: unknown, expected: unknown): void {
	const [one, other] = [JSON.stringify(found), JSON.stringify(expected)];
	if (one !== other) throw new Error(`${what}: ${cut(one ?? "undefined")}, expected ${cut(other ?? "undefined")}`);
}

/** Throws with the sentence unless `holds`. */
export function must(holds: boolean, sentence: string): asserts holds {
	if (!holds) throw new Error(cut(sentence));
}

function cut(text: string): string {
	return text.length <= 600 ? text : `${text.slice(0, 600)}... (${text.length} characters)`;
}
