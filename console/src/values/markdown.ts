/** Markdown as markdown-it reads it: HTML is text, and addresses other than those of http are no links. */
import MarkdownIt, { type Token } from "markdown-it";

/** Blocks and emphasis nested deeper are left out: the time for a text grows with its length times this. */
const DEEPEST = 20;

const reader = new MarkdownIt({ html: false, linkify: true, maxNesting: DEEPEST });
reader.validateLink = (address) => /^https?:\/\//i.test(address);
reader.normalizeLinkText = (text) => text;
// Otherwise "main.py" is an address in Paraguay.
reader.linkify.set({ fuzzyLink: false, fuzzyEmail: false });

export function readMarkdown(text: string): readonly Token[] {
	return reader.parse(text, {});
}
