/**
 * Reads the pages from the repository as they are: the first heading is the title; links to other
 * pages lead to their places in the site, links to other files become text.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Loader } from "astro/loaders";
import { diagrams } from "./diagrams.ts";
import { API, PAGES, ROOT } from "./page-list.ts";

/** Address of the site below that of the service. */
export const BASE = "/docs/";

export function repositoryPages(): Loader {
	return {
		name: "repository-pages",
		async load({ store, parseData, renderMarkdown, generateDigest }) {
			store.clear();
			for (const [file, slug] of PAGES) {
				const { title, body } = page(file);
				const id = slug === "" ? "index" : slug;
				const data = await parseData({ id, data: { title } });
				const fileURL = pathToFileURL(ROOT + file);
				const rendered = await renderMarkdown(body, { fileURL });
				store.set({ id, data, body, rendered, digest: generateDigest(body) });
			}
		},
	};
}

function page(file: string): { title: string; body: string } {
	const text = readFileSync(ROOT + file, "utf8");
	const [heading, title] = /^# (.+)\n/m.exec(text) ?? [];
	if (heading === undefined) throw new Error(`${file} has no heading of the first level`);
	const body = bothThemes(linked(diagrams(text.replace(heading, "")), file));
	return { title: title!.replaceAll("`", ""), body };
}

/** Pictures follow the theme that the reader chose, not that of the system. */
function bothThemes(text: string): string {
	const picture = /<picture>\s*<source media="[^"]*dark\)" srcset="([^"]+)">\s*<img (src="[^>]+)>\s*<\/picture>/g;
	return text.replace(picture, (_, dark: string, light: string) => {
		const other = light.replace(/src="[^"]+"/, `src="${dark}"`);
		return `<img class="dark:sl-hidden" ${light}><img class="light:sl-hidden" ${other}>`;
	});
}

/** Code, which is left as it is; links; attributes of pictures. */
const PARTS =
	/(?<code>^```[^]*?^```$|``[^\n]+?``|`[^`\n]+`)|(?<!!)\[(?<label>(?:[^[\]]|\[[^\]]*\])*)\]\((?<to>[^)\s]+)\)|(?<name>src|srcset)="(?<file>[^"]+)"/gm;

function linked(text: string, file: string): string {
	return text.replace(PARTS, (all, ...rest) => {
		const part = rest.at(-1) as Record<string, string | undefined>;
		if (part["name"] !== undefined) return `${part["name"]}="${addressOf(part["file"]!, file)}"`;
		if (part["to"] === undefined) return all as string;
		const target = addressOf(part["to"], file);
		return target === undefined ? part["label"]! : `[${part["label"]}](${target})`;
	});
}

/** Undefined for files that are not in the site. Throws where there is no such file. */
function addressOf(to: string, file: string): string | undefined {
	if (/^(?:https?:|mailto:|#)/.test(to) || to.startsWith(BASE)) return to;
	const [path = "", anchor] = to.split("#");
	const target = join(dirname(file), path).replace(/\/$/, "");
	if (!existsSync(ROOT + target)) throw new Error(`${file}: there is no ${to}`);
	const hash = anchor === undefined ? "" : `#${anchor}`;
	if (target === API.file) return `${BASE}${API.path}${hash}`;
	if (target.startsWith("docs/images/")) return BASE + target.slice("docs/".length);
	for (const name of [target, `${target}/README.md`]) {
		const slug = PAGES.get(name);
		if (slug !== undefined) return `${BASE}${slug === "" ? "" : `${slug}/`}${hash}`;
	}
	return undefined;
}
