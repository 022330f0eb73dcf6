/** Markdown as elements: no HTML, no pictures from elsewhere, links only after a question. */
import type { Token } from "markdown-it";
import { Fragment, type ReactNode, createElement, useMemo } from "react";
import { readMarkdown } from "../../values/markdown.ts";
import { T } from "../../text/text.ts";
import { CodeBlock } from "../copy.tsx";
import { OutsideLink } from "../outside-link.tsx";

/** Tokens that a browser draws within a second, of which a list item has five. A block of code has a button. */
const MOST_TOKENS = 20_000;
const TOKENS_OF_CODE = 40;

/** Lines whose tokens are found within half a second. */
const MOST_LINES = 4000;

/** `plain` is shown in its place where it has too many elements. */
export default function MarkdownView({ text, plain }: { text: string; plain: ReactNode }): ReactNode {
	const shown = useMemo(() => {
		if (hasMoreLines(text, MOST_LINES)) return undefined;
		const tokens = readMarkdown(text);
		const weight = tokens.reduce((sum, { tag }) => sum + (tag === "code" ? TOKENS_OF_CODE : 1), 0);
		return weight > MOST_TOKENS ? undefined : elementsOf(tokens);
	}, [text]);
	return shown === undefined ? plain : <div className="markdown">{shown}</div>;
}

function hasMoreLines(text: string, lines: number): boolean {
	let at = -1;
	for (let left = lines; left >= 0; left -= 1) if ((at = text.indexOf("\n", at + 1)) < 0) return false;
	return true;
}

/** Elements of tokens: leaves, and pairs that begin and end an element. */
function elementsOf(tokens: readonly Token[]): readonly ReactNode[] {
	let parts: ReactNode[] = [];
	const outer: { start: Token; siblings: ReactNode[] }[] = [];
	for (const [key, token] of tokens.entries()) {
		if (token.nesting === 1) {
			outer.push({ start: token, siblings: parts });
			parts = [];
		} else if (token.nesting === 0) parts.push(leafOf(token, key));
		else {
			const { start, siblings } = outer.pop()!;
			siblings.push(elementOf(start, parts, key));
			parts = siblings;
		}
	}
	return parts;
}

function elementOf(token: Token, parts: readonly ReactNode[], key: number): ReactNode {
	switch (token.type) {
		case "heading_open":
			// Its level is that of the text, not of the page.
			return (
				<p key={key} className={`md-heading level-${token.tag.slice(1)}`}>
					<b>{parts}</b>
				</p>
			);
		case "paragraph_open":
			return token.hidden ? <Fragment key={key}>{parts}</Fragment> : <p key={key}>{parts}</p>;
		case "ordered_list_open":
			return (
				<ol key={key} start={Number(token.attrGet("start") ?? 1)}>
					{parts}
				</ol>
			);
		case "table_open":
			return (
				<div key={key} className="md-table">
					<table>{parts}</table>
				</div>
			);
		case "th_open":
			return (
				<th key={key} scope="col">
					{parts}
				</th>
			);
		case "link_open":
			return (
				<OutsideLink key={key} address={String(token.attrGet("href"))}>
					{parts}
				</OutsideLink>
			);
		default:
			return createElement(token.tag, { key }, parts);
	}
}

function leafOf(token: Token, key: number): ReactNode {
	const { type, content, info, children } = token;
	switch (type) {
		case "inline":
			return <Fragment key={key}>{elementsOf(children ?? [])}</Fragment>;
		case "fence":
		case "code_block":
			return <CodeBlock key={key} text={content.replace(/\n$/, "")} name={info.trim() || T.views.code} />;
		case "code_inline":
			return <code key={key}>{content}</code>;
		case "image":
			return (
				<OutsideLink key={key} address={String(token.attrGet("src"))}>
					{content || token.attrGet("src")}
				</OutsideLink>
			);
		case "hr":
			return <hr key={key} />;
		case "hardbreak":
			return <br key={key} />;
		case "softbreak":
			return "\n";
		default:
			return content;
	}
}
