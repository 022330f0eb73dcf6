/** The documentation site; `scripts/build-site.ts` builds it. */
import starlight from "@astrojs/starlight";
import { defineConfig } from "astro/config";
import { API, PAGES, SECTIONS } from "./src/page-list.ts";
import { searchWeights } from "./src/search-weights.ts";
import { BASE } from "./src/loader.ts";

type Section = (typeof SECTIONS)[number];

interface Group {
	label: string;
	collapsed: boolean;
	items: (string | { label: string; link: string } | Group)[];
}

function groupOf({ label, files, groups = [], closed = false }: Section): Group {
	return {
		label,
		collapsed: closed,
		items: [
			...(label === "Reference" ? [{ label: "API", link: `/${API.path}` }] : []),
			...files.map((file) => PAGES.get(file)!),
			...groups.map(groupOf),
		],
	};
}

export default defineConfig({
	base: BASE,
	outDir: "../dist/docs",
	// The repository's own packages.
	cacheDir: "../node_modules/.cache/site",
	trailingSlash: "always",
	devToolbar: { enabled: false },
	build: { inlineStylesheets: "never", assets: "assets" },
	vite: { build: { assetsInlineLimit: 0 } },
	integrations: [
		// Before Starlight, which builds the search.
		searchWeights(),
		starlight({
			title: "Sluice",
			logo: { src: "../console/public/icon.svg", alt: "" },
			favicon: "/icon.svg",
			disable404Route: true,
			customCss: ["./src/theme.css"],
			tableOfContents: { minHeadingLevel: 2, maxHeadingLevel: 3 },
			sidebar: SECTIONS.map(groupOf),
		}),
	],
});
