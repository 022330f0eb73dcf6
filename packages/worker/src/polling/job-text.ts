/** Parses the answer to a take, with the exact text of inputs (D5, protocol B.3). */
import type { Job } from "../types.ts";

/** `problems`: a sentence for each element that is not a job. */
export interface TakenJobs {
	jobs: Job[];
	problems: string[];
}

export function readJobs(text: string): TakenJobs {
	let parsed: unknown;
	try {
		parsed = JSON.parse(text);
	} catch (error) {
		return {
			jobs: [],
			problems: [`The answer to job-take is not JSON: ${(error as Error).message}`],
		};
	}
	if (!Array.isArray(parsed)) {
		if (!isJob(parsed) || !("input" in parsed))
			return { jobs: [], problems: ["Job has missing field(s): id or input."] };
		return {
			jobs: [withText(parsed, () => memberText(text, skipSpace(text, 0), "input"))],
			problems: [],
		};
	}
	const problems: string[] = [];
	const jobs: Job[] = [];
	let starts: number[] | undefined;
	for (const [index, element] of parsed.entries()) {
		if (!isJob(element)) {
			problems.push("A job in the list has no id.");
			continue;
		}
		jobs.push(withText(element, () => memberText(text, (starts ??= elementStarts(text))[index]!, "input")));
	}
	return { jobs, problems };
}

function isJob(value: unknown): value is { id: string } {
	return (
		typeof value === "object" && value !== null && "id" in value && typeof value.id === "string" && value.id !== ""
	);
}

function withText(job: { id: string }, find: () => string | undefined): Job {
	let found: string | undefined;
	return Object.defineProperty(job, "inputText", {
		get: () => (found ??= find() ?? "null"),
	}) as Job;
}

/** `text` must be valid JSON with an object at `start`. The last of duplicates counts, as in `JSON.parse`. */
export function memberText(text: string, start: number, name: string): string | undefined {
	let found: string | undefined;
	let at = skipSpace(text, start + 1);
	while (text[at] !== "}") {
		const keyEnd = endOfString(text, at);
		const key = text.slice(at, keyEnd);
		const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1);
		const valueEnd = endOfValue(text, valueStart);
		if (key === `"${name}"` || (key.includes("\\") && JSON.parse(key) === name))
			found = text.slice(valueStart, valueEnd);
		at = afterComma(text, valueEnd);
	}
	return found;
}

/** Offsets of a list's elements. `text` must be valid JSON. */
function elementStarts(text: string): number[] {
	const starts: number[] = [];
	let at = skipSpace(text, skipSpace(text, 0) + 1);
	while (text[at] !== "]") {
		starts.push(at);
		at = afterComma(text, endOfValue(text, at));
	}
	return starts;
}

function afterComma(text: string, end: number): number {
	const at = skipSpace(text, end);
	return text[at] === "," ? skipSpace(text, at + 1) : at;
}

function skipSpace(text: string, start: number): number {
	let at = start;
	while (text[at] === " " || text[at] === "\n" || text[at] === "\r" || text[at] === "\t") at += 1;
	return at;
}

function endOfString(text: string, start: number): number {
	let at = text.indexOf('"', start + 1);
	while (isEscaped(text, at)) at = text.indexOf('"', at + 1);
	return at + 1;
}

function isEscaped(text: string, quote: number): boolean {
	let at = quote - 1;
	while (text[at] === "\\") at -= 1;
	return (quote - 1 - at) % 2 === 1;
}

function endOfValue(text: string, start: number): number {
	if (text[start] === '"') return endOfString(text, start);
	let at = start;
	if (text[at] !== "{" && text[at] !== "[") {
		while (at < text.length && !",]} \n\r\t".includes(text[at]!)) at += 1;
		return at;
	}
	let depth = 0;
	do {
		const character = text[at];
		if (character === '"') {
			at = endOfString(text, at);
			continue;
		}
		if (character === "{" || character === "[") depth += 1;
		else if (character === "}" || character === "]") depth -= 1;
		at += 1;
	} while (depth > 0);
	return at;
}
