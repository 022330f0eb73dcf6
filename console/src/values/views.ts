/** The ways in which a value can be shown: as text, as Markdown, as a conversation, as a table. */
import { kindOf } from "../text/exact.ts";
import { mediaOf } from "./media.ts";
import { textIn } from "../../../src/kernel/lib/stream-text.ts";

export interface Turn {
	role: string;
	text: string;
}

export interface Rows {
	/** Where they are in the value; empty: it is the list itself. */
	path: string;
	columns: readonly string[];
	rows: readonly Readonly<Record<string, unknown>>[];
}

/** Members that hold the text of an output, first come first. */
const TEXT_MEMBERS = [
	"text",
	"output",
	"generated_text",
	"response",
	"result",
	"answer",
	"content",
	"message",
	"transcription",
];

/** Columns of a table; values with more members are shown as JSON. */
const MOST_COLUMNS = 20;

/** Longer texts are shown as they are. */
export const MOST_MARKDOWN = 100_000;

export type ViewName = "chat" | "markdown" | "text" | "table" | "json";

/** The views of a value, the best first. */
export function viewsOf(value: unknown): readonly ViewName[] {
	const text = textOf(value);
	const views: ViewName[] = [];
	if (turnsOf(value)) views.push("chat");
	if (text !== undefined && looksLikeMarkdown(text)) views.push("markdown");
	if (text !== undefined) views.push("text");
	// Pieces of one text are no rows.
	if (rowsOf(value) && !(Array.isArray(value) && text !== undefined)) views.push("table");
	// A short text in an object says less than the object.
	const whole = typeof value === "string" || (text ?? "").includes("\n") || views.includes("chat");
	return whole || Array.isArray(value) ? [...views, "json"] : ["json", ...views];
}

/** The text that a value is about: itself, a model's answer, docling's document, or its only text of some length. */
export function textOf(value: unknown): string | undefined {
	if (typeof value === "string") return isText(value) ? value : undefined;
	if (Array.isArray(value)) return tokensIn(value) ?? textIn(value);
	if (kindOf(value) !== "object") return undefined;
	const object = value as Record<string, unknown>;
	const answer = turnsOf({ choices: object["choices"] })?.at(-1)?.text;
	if (answer !== undefined) return answer;
	const markdown = member(object["document"], "md_content");
	if (typeof markdown === "string" && isText(markdown)) return markdown;
	const name = TEXT_MEMBERS.find((each) => typeof object[each] === "string");
	const text = name === undefined ? undefined : (object[name] as string);
	return text !== undefined && isText(text) ? text : undefined;
}

/** Whether a text is more than paragraphs. */
export function looksLikeMarkdown(text: string): boolean {
	if (text.length > MOST_MARKDOWN) return false;
	return (
		/^ {0,3}(?:#{1,6} |```|~~~|> |[-*+] \S|\d{1,3}[.)] \S|\|.{0,500}\|\s*$)/m.test(text) ||
		/\*\*[^*\n]{1,500}\*\*|`[^`\n]{1,500}`|\]\(https?:/.test(text)
	);
}

/** No base64 of a picture. */
function isText(text: string): boolean {
	return text.trim() !== "" && mediaOf(text) === undefined;
}

/** What RunPod's vLLM worker returns: choices with tokens. */
function tokensIn(list: readonly unknown[]): string | undefined {
	const texts = list.map((each) => {
		const tokens = firstOf(member(each, "choices"), "tokens");
		return Array.isArray(tokens) && tokens.every((token) => typeof token === "string") ? tokens.join("") : undefined;
	});
	return list.length > 0 && texts.every((text) => text !== undefined) ? texts.join("") : undefined;
}

/** The turns of a conversation: messages of a request, choices of an answer, or a list of turns. */
export function turnsOf(value: unknown): readonly Turn[] | undefined {
	const list = Array.isArray(value)
		? value
		: (member(value, "messages") ?? member(member(value, "openai_input"), "messages"));
	if (Array.isArray(list)) return turnsIn(list);
	const choices = member(value, "choices");
	if (!Array.isArray(choices)) return undefined;
	const message = firstOf(choices, "message");
	if (message !== undefined) return turnsIn([message]);
	const text = firstOf(choices, "text");
	return typeof text === "string" ? [{ role: "assistant", text }] : undefined;
}

function turnsIn(list: readonly unknown[]): readonly Turn[] | undefined {
	const turns = list.map((each): Turn | undefined => {
		const [role, content] = [member(each, "role"), contentOf(member(each, "content"))];
		return typeof role === "string" && content !== undefined ? { role, text: content } : undefined;
	});
	return turns.length > 0 && turns.every((turn) => turn !== undefined) ? turns : undefined;
}

/** A text, or the text pieces of a list of parts. */
function contentOf(content: unknown): string | undefined {
	if (typeof content === "string") return content;
	if (content === null) return "";
	if (!Array.isArray(content)) return undefined;
	const texts = content.map((part) => {
		const [text, type] = [member(part, "text"), member(part, "type")];
		return typeof text === "string" ? text : `[${typeof type === "string" ? type : "part"}]`;
	});
	return texts.join("\n");
}

/** The rows of a value that is, or has, a list of objects. */
export function rowsOf(value: unknown): Rows | undefined {
	if (Array.isArray(value)) return tableOf(value, "");
	if (kindOf(value) !== "object") return undefined;
	for (const [name, list] of Object.entries(value as object)) {
		const table = Array.isArray(list) ? tableOf(list, name) : undefined;
		if (table) return table;
	}
	return undefined;
}

function tableOf(list: readonly unknown[], path: string): Rows | undefined {
	if (list.length < 2 || !list.every((each) => kindOf(each) === "object")) return undefined;
	const rows = list as readonly Readonly<Record<string, unknown>>[];
	const columns = [...new Set(rows.slice(0, 200).flatMap((row) => Object.keys(row)))];
	return columns.length > 0 && columns.length <= MOST_COLUMNS ? { path, columns, rows } : undefined;
}

function member(value: unknown, name: string): unknown {
	return kindOf(value) === "object" ? (value as Record<string, unknown>)[name] : undefined;
}

function firstOf(list: unknown, name: string): unknown {
	return Array.isArray(list) ? member(list[0], name) : undefined;
}
