/**
 * The work of the openai endpoint: a small text generator that has read one text and knows which
 * word follows which two.
 */
import { readFileSync } from "node:fs";

const END = "\n";
/** Words, with an apostrophe inside; or one mark. */
const TOKEN = /[\p{L}\p{N}]+(?:['’][\p{L}]+)*|[^\s\p{L}\p{N}]/gu;

const followers = learn(readFileSync(new URL("harbour.txt", import.meta.url), "utf8"));

/** Tokens of a text: words and marks. What `usage` counts. */
export function tokensOf(text) {
	return text.match(TOKEN) ?? [];
}

/**
 * Yields text token by token, each with the space before it, going on from the last words of the
 * prompt if it knows them. It ends where a paragraph of the text that it learned from ends.
 *
 * @param {{ prompt: string, temperature: number, random: () => number }} options temperature 0
 * takes the most frequent word, 1 takes words as often as they were read, more makes rare ones
 * likelier
 * @returns {Generator<string>}
 */
export function* generate({ prompt, temperature, random }) {
	const said = tokensOf(prompt.toLowerCase()).slice(-2);
	let [before, last] = said.length === 2 && followers.has(said.join(" ")) ? said : [END, END];
	let first = last === END;
	for (;;) {
		const next = choose(followers.get(key(before, last)) ?? followers.get(key(END, END)), temperature, random);
		if (next === END) return;
		const space = first || /^[.,;:!?]$/.test(next) ? "" : " ";
		yield space + next;
		first = false;
		[before, last] = [last, next.toLowerCase()];
	}
}

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
export function seeded(seed) {
	let state = seed >>> 0;
	return () => {
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	};
}

function key(before, last) {
	return last === END ? END : before === END ? last : `${before} ${last}`;
}

/** How often each token follows two others; what begins a paragraph follows the end of one. */
function learn(text) {
	const counts = new Map();
	for (const paragraph of text.split(/\n\s*\n/)) {
		let [before, last] = [END, END];
		for (const token of [...tokensOf(paragraph), END]) {
			const after = counts.get(key(before, last)) ?? new Map();
			counts.set(key(before, last), after.set(token, (after.get(token) ?? 0) + 1));
			[before, last] = [last, token.toLowerCase()];
		}
	}
	return counts;
}

function choose(after, temperature, random) {
	const choices = [...after];
	const most = Math.max(...choices.map(([, count]) => count));
	if (temperature === 0) return choices.find(([, count]) => count === most)[0];
	const weights = choices.map(([, count]) => (count / most) ** (1 / temperature));
	let left = random() * weights.reduce((sum, weight) => sum + weight, 0);
	for (const [index, [token]] of choices.entries()) {
		left -= weights[index];
		if (left < 0) return token;
	}
	return choices.at(-1)[0];
}
