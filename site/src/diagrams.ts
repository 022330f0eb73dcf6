/** Mermaid blocks as pictures, which need no script of the reader's browser. */
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { renderMermaidSVG } from "beautiful-mermaid";
import { DIAGRAMS } from "./page-list.ts";

/** The console's colours. */
const THEMES = {
	light: { bg: "#ffffff", fg: "#15191d", line: "#5d6771", accent: "#0b6580", muted: "#3f4851" },
	dark: { bg: "#0e1114", fg: "#e8ecef", line: "#939ea8", accent: "#58bbd9", muted: "#bac3cb" },
};

/** Replaces the blocks by pictures for both themes. */
export function diagrams(text: string): string {
	return text.replace(/^```mermaid\n([^]*?)^```$/gm, (_, source: string) => {
		const name = createHash("sha256").update(source).digest("hex").slice(0, 12);
		mkdirSync(DIAGRAMS, { recursive: true });
		for (const [theme, colours] of Object.entries(THEMES)) {
			const svg = renderMermaidSVG(source.replace(/^%%.*\n/m, ""), colours);
			writeFileSync(`${DIAGRAMS}/${name}-${theme}.svg`, svg.replace(/@import url\([^)]*\);/g, ""));
		}
		const file = (theme: string): string => `/docs/diagrams/${name}-${theme}.svg`;
		return (
			`<picture><source media="(prefers-color-scheme: dark)" srcset="${file("dark")}">` +
			`<img src="${file("light")}" alt="Diagram"></picture>`
		);
	});
}
