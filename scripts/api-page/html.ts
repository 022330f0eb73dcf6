export interface Html {
	readonly html: string;
}

type Part = Html | string | number | undefined | readonly Part[];

/** Escapes all values except HTML. Omits `undefined`. */
export function html(texts: TemplateStringsArray, ...parts: Part[]): Html {
	return { html: texts.reduce((all, text, at) => all + rendered(parts[at - 1]) + text) };
}

function rendered(part: Part): string {
	if (part === undefined) return "";
	if (typeof part === "object") return "html" in part ? part.html : part.map(rendered).join("");
	return escaped(String(part));
}

export function escaped(text: string): string {
	return text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

/** Backticks mark `code`. */
export function inline(text: string): Html[] {
	return text.split("`").map((piece, at) => (at % 2 === 1 ? html`<code>${piece}</code>` : html`${piece}`));
}
