/** The subject of a job in a list: a title from its input, and the other members as names with values. */
import { kindOf, pretty } from "../../text/exact.ts";
import { type Media, mediaOf } from "../media.ts";

export interface JobTitle {
	/** Undefined: the input has no text. */
	title?: string;
	pairs: readonly (readonly [name: string, value: string])[];
	/** What its first member with bytes is. */
	media?: Pick<Media, "kind" | "type">;
}

/** Members that name the subject best, in this order; their values may be texts, names of files or addresses. */
const SUBJECTS = [
	...["prompt", "text", "query", "question", "message", "instruction", "title", "name"],
	...["audio", "image", "video", "file", "path", "url", "input"],
];

const [LONGEST_TITLE, LONGEST_VALUE, MOST_PAIRS] = [160, 40, 6];

/** Texts of one word that are long: ids, keys and base64, cut off where the beginning of an input ends. */
const OPAQUE = /^(?:data:|[\w+/=-]{60,}$)/;

/** A text that says something without the name of its member. */
const SENTENCE = /\s|.{8}/;

/** The title of an input, or of the beginning of its JSON as text. */
export function titleOf(input: unknown): JobTitle {
	const value = typeof input === "string" ? readBeginning(input) : input;
	if (kindOf(value) !== "object") return { pairs: [] };
	const members = flatten(value as Record<string, unknown>);
	const messages = members.find(([name, each]) => name === "messages" && Array.isArray(each))?.[1];
	const subject =
		questionIn(messages) === undefined
			? (SUBJECTS.map((name) => members.find(([each, text]) => each === name && isTitle(text))).find(Boolean) ??
				members.find(([name, text]) => name !== "openai_route" && isTitle(text) && SENTENCE.test(text)))
			: undefined;
	const title = questionIn(messages) ?? (subject?.[1] as string | undefined);
	const pairs = members
		.filter((each) => each !== subject && each[1] !== messages)
		.map(([name, each]) => [name, shown(each)] as const)
		.filter(([, text]) => text !== "")
		.slice(0, MOST_PAIRS);
	const media = members.map(([, each]) => (typeof each === "string" ? mediaOf(each) : undefined)).find(Boolean);
	if (title === undefined && media) return { media: { kind: media.kind, type: media.type }, pairs };
	return { ...(title === undefined ? {} : { title: oneLine(lastPart(title)).slice(0, LONGEST_TITLE) }), pairs };
}

/** Members, with those of the request in a job of OpenAI's API. */
function flatten(value: Record<string, unknown>): [string, unknown][] {
	return Object.entries(value).flatMap(([name, each]): [string, unknown][] =>
		name === "openai_input" && kindOf(each) === "object" ? Object.entries(each as object) : [[name, each]],
	);
}

const isTitle = (value: unknown): value is string =>
	typeof value === "string" && value.trim() !== "" && !OPAQUE.test(value) && mediaOf(value) === undefined;

/** What the user wrote last. */
function questionIn(messages: unknown): string | undefined {
	if (!Array.isArray(messages)) return undefined;
	const texts = messages.flatMap((each: { role?: unknown; content?: unknown } | null) => {
		const { role, content } = each ?? {};
		const text = Array.isArray(content)
			? content.map((part: { text?: unknown } | null) => part?.text).find((part) => typeof part === "string")
			: content;
		return role === "user" && typeof text === "string" && text.trim() !== "" ? [text] : [];
	});
	return texts.at(-1);
}

/** The name of a file for an address or a path. */
function lastPart(text: string): string {
	if (!/^(?:[a-z][a-z0-9+.-]*:\/\/|\.{0,2}\/)\S+$/i.test(text)) return text;
	const [path = ""] = text.split(/[?#]/, 1);
	return path.split("/").findLast((part) => part !== "") ?? text;
}

function shown(value: unknown): string {
	if (typeof value === "string") return OPAQUE.test(value) ? "" : cut(oneLine(value));
	const kind = kindOf(value);
	if (kind === "object" && Object.keys(value as object).length === 0) return "";
	const text =
		kind === "object" || kind === "array"
			? oneLine(pretty(value)).replaceAll(/([[{]) | (?=[\]}])/g, "$1")
			: `${pretty(value)}`;
	return cut(text);
}

const cut = (text: string): string => (text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text);

const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();

/** JSON whose end may be missing: without the member in which it was cut, unless that is a text. */
export function readBeginning(text: string): unknown {
	const open: string[] = [];
	const cuts: { at: number; open: string }[] = [];
	let [inText, escaped] = [false, false];
	/** Where the last escape begins. */
	let escape = text.length;
	for (let at = 0; at < text.length; at += 1) {
		const each = text[at]!;
		if (escaped) escaped = false;
		else if (inText) {
			if (each === "\\") {
				escaped = true;
				escape = at;
			} else if (each === '"') inText = false;
		} else if (each === '"') inText = true;
		else if (each === "{" || each === "[") open.push(each === "{" ? "}" : "]");
		else if (each === "}" || each === "]") open.pop();
		else if (each === ",") cuts.push({ at, open: open.toReversed().join("") });
	}
	const whole = inText && /^\\(?:u[0-9a-f]{0,3})?$/i.test(text.slice(escape)) ? text.slice(0, escape) : text;
	const ends = [whole + (inText ? '"' : "") + open.toReversed().join("")];
	for (const cut of cuts.toReversed().slice(0, 4)) ends.push(text.slice(0, cut.at) + cut.open);
	for (const end of ends)
		try {
			return JSON.parse(end);
		} catch {
			// Cut within a member.
		}
	return undefined;
}
