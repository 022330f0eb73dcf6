/**
 * Markdown as language models write it, read into blocks: headings, lists, quotes, code, tables,
 * rules and paragraphs. HTML is text. Its input is hostile: every pattern is bounded, and what is
 * not understood stays as it was written.
 */

export type Inline =
	| { kind: "text"; text: string }
	| { kind: "code"; text: string }
	| { kind: "strong" | "em" | "del"; parts: readonly Inline[] }
	| { kind: "link"; address: string; parts: readonly Inline[] };

export type Block =
	| { kind: "heading"; level: number; parts: readonly Inline[] }
	| { kind: "paragraph"; parts: readonly Inline[] }
	| { kind: "code"; language: string; text: string }
	| { kind: "quote"; blocks: readonly Block[] }
	| { kind: "list"; first: number | undefined; items: readonly (readonly Block[])[] }
	| { kind: "table"; head: readonly Cell[]; rows: readonly (readonly Cell[])[] }
	| { kind: "rule" };

type Cell = readonly Inline[];

/** Longer texts are shown as they are. */
export const MOST_MARKDOWN = 100_000;

/** Nesting of quotes and lists, and of emphasis. */
const DEEPEST = 6;

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]{0,30})/;
const HEADING = /^(#{1,6})\s+(.*?)\s*#*$/;
const RULE = /^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const TABLE_RULE = /^\s*\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?\s*)?$/;

/** Whether a text is more than paragraphs. */
export function looksLikeMarkdown(text: string): boolean {
	if (text.length > MOST_MARKDOWN) return false;
	return (
		/^ {0,3}(?:#{1,6} |```|~~~|> |[-*+] \S|\d{1,3}[.)] \S|\|.{0,500}\|\s*$)/m.test(text) ||
		/\*\*[^*\n]{1,500}\*\*|`[^`\n]{1,500}`|\]\(https?:/.test(text)
	);
}

export function readMarkdown(text: string): readonly Block[] {
	return blocksOf(text.replaceAll("\t", "    ").split(/\r?\n/), 0);
}

function blocksOf(lines: readonly string[], depth: number): readonly Block[] {
	const blocks: Block[] = [];
	let paragraph: string[] = [];
	const flush = (): void => {
		if (paragraph.length > 0) blocks.push({ kind: "paragraph", parts: inlineOf(paragraph.join("\n")) });
		paragraph = [];
	};
	for (let at = 0; at < lines.length; ) {
		const line = lines[at]!;
		const taken = blockAt(lines, at, depth);
		if (taken) {
			flush();
			blocks.push(taken.block);
			at = taken.next;
			continue;
		}
		if (line.trim() === "") flush();
		else paragraph.push(line.trim());
		at += 1;
	}
	flush();
	return blocks;
}

/** The block that begins at a line and is no paragraph. */
function blockAt(lines: readonly string[], at: number, depth: number): { block: Block; next: number } | undefined {
	const line = lines[at]!;
	const fence = FENCE.exec(line);
	if (fence) return codeAt(lines, at, fence);
	const heading = HEADING.exec(line);
	if (heading)
		return {
			block: { kind: "heading", level: heading[1]!.length, parts: inlineOf(heading[2]!) },
			next: at + 1,
		};
	if (RULE.test(line)) return { block: { kind: "rule" }, next: at + 1 };
	if (line.includes("|") && TABLE_RULE.test(lines[at + 1] ?? "")) return tableAt(lines, at);
	if (depth >= DEEPEST) return undefined;
	if (/^ {0,3}>/.test(line)) {
		const end = endOf(lines, at, (each) => /^ {0,3}>/.test(each));
		const inner = lines.slice(at, end).map((each) => each.replace(/^ {0,3}> ?/, ""));
		return { block: { kind: "quote", blocks: blocksOf(inner, depth + 1) }, next: end };
	}
	return ITEM.test(line) ? listAt(lines, at, depth) : undefined;
}

/** The first line from `at` on that does not belong. */
function endOf(lines: readonly string[], at: number, belongs: (line: string) => boolean): number {
	let end = at;
	while (end < lines.length && belongs(lines[end]!)) end += 1;
	return end;
}

function codeAt(lines: readonly string[], at: number, [, marks = "", language = ""]: string[]) {
	const end = endOf(lines, at + 1, (line) => !line.trim().startsWith(marks));
	const text = lines.slice(at + 1, end).join("\n");
	return { block: { kind: "code", language, text } as const, next: end + 1 };
}

function tableAt(lines: readonly string[], at: number): { block: Block; next: number } {
	const end = endOf(lines, at + 2, (line) => line.includes("|"));
	const cells = (line: string): Cell[] =>
		line
			.trim()
			.replace(/^\||\|$/g, "")
			.split("|")
			.map((cell) => inlineOf(cell.trim()));
	return {
		block: {
			kind: "table",
			head: cells(lines[at]!),
			rows: lines.slice(at + 2, end).map(cells),
		},
		next: end,
	};
}

/** Items with the lines that are indented below them. */
function listAt(lines: readonly string[], at: number, depth: number): { block: Block; next: number } {
	const [, indent = "", mark = ""] = ITEM.exec(lines[at]!)!;
	const numbered = /^\d/.test(mark);
	const items: string[][] = [];
	let end = at;
	for (; end < lines.length; end += 1) {
		const line = lines[end]!;
		const item = ITEM.exec(line);
		if (item && item[1]!.length <= indent.length + 1) {
			if (/^\d/.test(item[2]!) !== numbered || item[1]!.length < indent.length) break;
			items.push([item[3]!]);
		} else if (line.trim() === "") {
			const after = lines[end + 1] ?? "";
			if (!after.startsWith(`${indent}  `) && !ITEM.test(after)) break;
			items.at(-1)!.push("");
		} else if (line.startsWith(`${indent}  `)) items.at(-1)!.push(line.slice(indent.length + 2));
		else break;
	}
	return {
		block: {
			kind: "list",
			first: numbered ? Number.parseInt(mark, 10) : undefined,
			items: items.map((each) => blocksOf(each, depth + 1)),
		},
		next: end,
	};
}

/** In the order in which they are tried; every repetition has a bound. */
const INLINE = new RegExp(
	[
		"`([^`\\n]{1,2000})`",
		"\\*\\*([^*\\n]{1,2000})\\*\\*",
		"__([^_\\n]{1,2000})__",
		"~~([^~\\n]{1,2000})~~",
		"\\*([^*\\s][^*\\n]{0,2000})\\*",
		"(?<!\\w)_([^_\\s][^_\\n]{0,2000})_(?!\\w)",
		'!?\\[([^\\][\\n]{0,500})\\]\\((https?://[^\\s()<>"]{1,2000})\\)',
		'(https?://[^\\s()<>"\\]`*]{1,2000})',
	].join("|"),
	"g",
);

function inlineOf(text: string, depth = 0): readonly Inline[] {
	const parts: Inline[] = [];
	let at = 0;
	const plain = (end: number): void => {
		if (end > at) parts.push({ kind: "text", text: text.slice(at, end) });
	};
	for (const match of depth > DEEPEST ? [] : text.matchAll(INLINE)) {
		plain(match.index);
		at = match.index + match[0].length;
		parts.push(inlineFrom(match, depth + 1));
	}
	plain(text.length);
	return parts;
}

function inlineFrom(match: RegExpExecArray, depth: number): Inline {
	const [, code, strong, strong2, del, em, em2, label, address, bare] = match;
	if (code !== undefined) return { kind: "code", text: code };
	const bold = strong ?? strong2;
	if (bold !== undefined) return { kind: "strong", parts: inlineOf(bold, depth) };
	if (del !== undefined) return { kind: "del", parts: inlineOf(del, depth) };
	const light = em ?? em2;
	if (light !== undefined) return { kind: "em", parts: inlineOf(light, depth) };
	if (address !== undefined) return { kind: "link", address, parts: [{ kind: "text", text: label || address }] };
	return { kind: "link", address: bare!, parts: [{ kind: "text", text: bare! }] };
}
