/** What a browser loads before the console shows its first page. */
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const BUNDLE = fileURLToPath(new URL("../../dist/console", import.meta.url));

/** Most bytes, with gzip. */
const MOST = 250_000;

/** Files that the page names, and that those import before they run. */
function firstLoad(): string[] {
	const html = readFileSync(join(BUNDLE, "index.html"), "utf8");
	const files = new Set(["index.html", ...[...html.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(([, path]) => path!)]);
	for (const path of files) {
		if (!path.endsWith(".js")) continue;
		const imports = readFileSync(join(BUNDLE, path), "utf8").matchAll(
			/(?:^|[;}\s])import\s*(?:[\w*{}\s,$]+?from\s*)?["']\.\/([^"']+)["']/g,
		);
		for (const [, name] of imports) files.add(`assets/${name}`);
	}
	return [...files];
}

/** Bytes as they go over the wire to a browser that takes gzip. */
function sizeOf(path: string): number {
	return statSync(join(BUNDLE, existsSync(join(BUNDLE, `${path}.gz`)) ? `${path}.gz` : path)).size;
}

it("the first load is under 250 kB with gzip, and what few pages need is loaded later", () => {
	const files = firstLoad();
	const all = readdirSync(join(BUNDLE, "assets"))
		.filter((name) => /\.(?:js|css)$/.test(name))
		.map((name) => `assets/${name}`);
	const sum = (paths: readonly string[]): number => paths.reduce((bytes, path) => bytes + sizeOf(path), 0);
	console.info(
		`console: first load ${(sum(files) / 1000).toFixed(1)} kB in ${files.length} files, ` +
			`all ${(sum(all) / 1000).toFixed(1)} kB (gzip)`,
	);
	expect(files.filter((path) => path.endsWith(".js")).length).toBeGreaterThan(1);
	expect(files.some((path) => path.endsWith(".css"))).toBe(true);
	expect(sum(files)).toBeLessThan(MOST);
	expect(sum(all.filter((path) => !files.includes(path)))).toBeGreaterThan(10_000);
});
