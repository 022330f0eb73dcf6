/** Markdown as elements: no HTML, no pictures from elsewhere, links only after a question. */
import { type ReactNode, useMemo } from "react";
import { type Block, type Inline, readMarkdown } from "../markdown.ts";
import { T } from "../text.ts";
import { CodeBlock } from "./copy.tsx";
import { OutsideLink } from "./outside-link.tsx";

export function MarkdownView({ text }: { text: string }): ReactNode {
	const blocks = useMemo(() => readMarkdown(text), [text]);
	return <div className="markdown">{blocks.map(blockOf)}</div>;
}

function blockOf(block: Block, key: number): ReactNode {
	switch (block.kind) {
		case "heading":
			// Its level is that of the text, not of the page.
			return (
				<p key={key} className={`md-heading level-${block.level}`}>
					<b>{block.parts.map(inlineOf)}</b>
				</p>
			);
		case "paragraph":
			return <p key={key}>{block.parts.map(inlineOf)}</p>;
		case "code":
			return <CodeBlock key={key} text={block.text} name={block.language || T.views.code} />;
		case "quote":
			return <blockquote key={key}>{block.blocks.map(blockOf)}</blockquote>;
		case "rule":
			return <hr key={key} />;
		case "list": {
			const items = block.items.map((item, index) => <li key={index}>{item.map(blockOf)}</li>);
			return block.first === undefined ? (
				<ul key={key}>{items}</ul>
			) : (
				<ol key={key} start={block.first}>
					{items}
				</ol>
			);
		}
		case "table":
			return (
				<div key={key} className="md-table">
					<table>
						<thead>
							<tr>
								{block.head.map((cell, index) => (
									<th key={index} scope="col">
										{cell.map(inlineOf)}
									</th>
								))}
							</tr>
						</thead>
						<tbody>
							{block.rows.map((row, index) => (
								<tr key={index}>
									{row.map((cell, at) => (
										<td key={at}>{cell.map(inlineOf)}</td>
									))}
								</tr>
							))}
						</tbody>
					</table>
				</div>
			);
	}
}

function inlineOf(part: Inline, key: number): ReactNode {
	switch (part.kind) {
		case "text":
			return part.text;
		case "code":
			return <code key={key}>{part.text}</code>;
		case "strong":
			return <b key={key}>{part.parts.map(inlineOf)}</b>;
		case "em":
			return <em key={key}>{part.parts.map(inlineOf)}</em>;
		case "del":
			return <del key={key}>{part.parts.map(inlineOf)}</del>;
		case "link":
			return (
				<OutsideLink key={key} address={part.address}>
					{part.parts.map(inlineOf)}
				</OutsideLink>
			);
	}
}
