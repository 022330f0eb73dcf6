/** Weights of pages for the search (Pagefind): its text is indexed with that of the page's section. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { AstroIntegration, ViteUserConfig } from "astro";
import { weightOf } from "./page-list.ts";

type Plugin = Extract<NonNullable<ViteUserConfig["plugins"]>[number], { name: string }>;

/** What Pagefind multiplies for headings and for the rest of a page. */
const HEADINGS = { h1: 7, h2: 6, h3: 5 } as const;

/** The largest weight that Pagefind takes. */
const LARGEST = 10;

/** The heading of a page already counts by its weight; Starlight has no setting for titles as metadata. */
const TITLES: Plugin = {
	name: "search-titles",
	enforce: "pre",
	transform: (code, id) =>
		id.includes("virtual:starlight/pagefind-config")
			? code.replace('"ranking":{', '"ranking":{"metaWeights":{"title":0},')
			: undefined,
};

export function searchWeights(): AstroIntegration {
	return {
		name: "search-weights",
		hooks: {
			"astro:config:setup": ({ updateConfig }) => updateConfig({ vite: { plugins: [TITLES] } }),
			"astro:build:done": ({ pages, dir }) => {
				for (const { pathname } of pages) {
					const path = fileURLToPath(new URL(`${pathname}index.html`, dir));
					writeFileSync(path, weighted(readFileSync(path, "utf8"), weightOf(pathname.replace(/\/$/, ""))));
				}
			},
		},
	};
}

function weighted(html: string, weight: number): string {
	const attribute = (value: number): string => `data-pagefind-weight="${Math.min(LARGEST, value)}"`;
	return html
		.replace(/<main(?=[^>]*\sdata-pagefind-body)/, `<main ${attribute(weight)}`)
		.replace(
			/<(h[123])(?=[\s>])/g,
			(tag, name: keyof typeof HEADINGS) => `${tag} ${attribute(weight * HEADINGS[name])}`,
		);
}
