/** What the output of a worker must not show (D22, D47): the values of its variables and secrets, by name. */
import { overlap } from "../../lib/masked.ts";

export type HiddenValues = Readonly<Record<string, string>>;

/** Shorter values are no secrets, and are found in any text. */
const SECRET_LENGTH = 8;

const TOKEN = /sluice_worker_[0-9a-f]+/g;

/** One way in which a value is written. */
interface Form {
	name: string;
	value: string;
}

/** Where something of a value stands in a text. */
interface Span {
	name: string;
	from: number;
	to: number;
}

/**
 * Replaces the values, their lines, and tokens by their names. The text may be a part of a longer one: what stands of a
 * value at its begin and at its end is replaced too. Must come before the text is made shorter: of a value that was cut
 * elsewhere the rest is not recognized.
 */
export function withoutSecrets(text: string, values: HiddenValues): string {
	let shown = "";
	let at = 0;
	for (const { name, from, to } of spansIn(text, formsOf(values))) {
		shown += `${text.slice(at, from)}[${name}]`;
		at = to;
	}
	return shown + text.slice(at);
}

/**
 * The longest first, each text once: of names with the same value the first one is shown. A value within JSON is
 * another text, and who prints one line of it may trim it.
 */
function formsOf(values: HiddenValues): Form[] {
	const names = new Map<string, string>();
	for (const [name, value] of Object.entries(values))
		for (const text of [value, ...value.split("\n")].map((each) => each.trim()))
			for (const form of [text, JSON.stringify(text).slice(1, -1)])
				if (form.length >= SECRET_LENGTH && !names.has(form)) names.set(form, name);
	return Array.from(names, ([value, name]) => ({ name, value })).toSorted((a, b) => b.value.length - a.value.length);
}

/** In their order and apart: of spans that overlap the name of the first one stays. */
function spansIn(text: string, forms: readonly Form[]): Span[] {
	const tokens = Array.from(text.matchAll(TOKEN), ({ 0: { length }, index }) => spanOf("token", index, length));
	const found = [...cutSpans(text, forms), ...wholeSpans(text, forms), ...tokens];
	const apart: Span[] = [];
	for (const span of found.toSorted((a, b) => a.from - b.from || b.to - a.to)) {
		const before = apart.at(-1);
		if (before && span.from < before.to) before.to = Math.max(before.to, span.to);
		else apart.push(span);
	}
	return apart;
}

function spanOf(name: string, from: number, length: number): Span {
	return { name, from, to: from + length };
}

/** Only where eight characters fit are the values searched, so their number hardly counts. */
function wholeSpans(text: string, forms: readonly Form[]): Span[] {
	const begins = new Set(forms.map(({ value }) => value.slice(0, SECRET_LENGTH)));
	const find = finder(forms);
	const spans: Span[] = [];
	for (let from = 0; from <= text.length - SECRET_LENGTH; from += 1) {
		const form = begins.has(text.slice(from, from + SECRET_LENGTH)) ? find(text, from) : undefined;
		if (form) spans.push(spanOf(form.name, from, form.value.length));
	}
	return spans;
}

/** Returns what finds the longest form that stands at a place of a text, by halves of their order. */
function finder(forms: readonly Form[]): (text: string, from: number) => Form | undefined {
	const sorted = forms.toSorted((a, b) => (a.value < b.value ? -1 : 1));
	const isAt = (form: Form, text: string, from: number): boolean =>
		text.slice(from, from + form.value.length) === form.value;
	// For each form the longest other one that it begins with.
	const shorter: number[] = [];
	for (const [index, form] of sorted.entries()) {
		let other = index - 1;
		while (other >= 0 && !isAt(sorted[other]!, form.value, 0)) other = shorter[other]!;
		shorter.push(other);
	}
	return (text, from) => {
		let [low, high] = [0, sorted.length];
		while (low < high) {
			const middle = (low + high) >> 1;
			const { value } = sorted[middle]!;
			if (value <= text.slice(from, from + value.length)) low = middle + 1;
			else high = middle;
		}
		// What stands there is the last one before, or what that begins with.
		let found = low - 1;
		while (found >= 0 && !isAt(sorted[found]!, text, from)) found = shorter[found]!;
		return sorted[found];
	};
}

/** The longest end of a value at the begin of the text, and the longest begin of one at its end. */
function cutSpans(text: string, forms: readonly Form[]): Span[] {
	const [begin, end] = [text.slice(0, SECRET_LENGTH), text.slice(-SECRET_LENGTH)];
	const head = longest(forms, (value) => {
		if (!value.includes(begin)) return 0;
		return value.includes(text) ? text.length : overlap(value, text);
	});
	const tail = longest(forms, (value) => (value.includes(end) ? overlap(text, value) : 0));
	return [
		...(head ? [spanOf(head.name, 0, head.length)] : []),
		...(tail ? [spanOf(tail.name, text.length - tail.length, tail.length)] : []),
	];
}

function longest(
	forms: readonly Form[],
	lengthOf: (value: string) => number,
): { name: string; length: number } | undefined {
	let found: { name: string; length: number } | undefined;
	for (const { name, value } of forms) {
		const length = lengthOf(value);
		if (length >= SECRET_LENGTH && length > (found?.length ?? 0)) found = { name, length };
	}
	return found;
}
