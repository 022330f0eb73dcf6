/**
 * Builds the documentation site (`site/`, of `docs/`) into `dist/docs/`: `npm run site`. Then makes
 * what Starlight writes fit the service: relative addresses, no inline scripts and styles, no dead
 * links, compressed copies. Does nothing while what it is made of is the same.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { DIAGRAMS } from "../site/src/page-list.ts";
import { compressAll, filesBelow, isBuilt, markBuilt } from "./built-files.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SITE = `${ROOT}site`;
const OUT = `${ROOT}dist/docs`;
const BASE = "/docs/";

/** Everything that pages are made of. */
const SOURCES = ["docs", "site", "examples/README.md", "deploy/README.md", "README.md"].concat([
	"CHANGELOG.md",
	"SECURITY.md",
	"CONTRIBUTING.md",
	"package-lock.json",
	"scripts/build-site.ts",
]);

interface Page {
	/** Of `OUT`. */
	path: string;
	html: string;
}

/** The packages of `site/` are no development packages of the service: few need them. */
function install(): void {
	const lock = readFileSync(`${SITE}/package-lock.json`, "utf8");
	const known = `${SITE}/node_modules/.installed-lock.json`;
	if (existsSync(known) && readFileSync(known, "utf8") === lock) return;
	const flags = ["--ignore-scripts", "--no-audit", "--no-fund"];
	execFileSync("npm", ["ci", ...flags], { cwd: SITE, stdio: ["ignore", "ignore", "inherit"] });
	writeFileSync(known, lock);
}

function build(): void {
	rmSync(OUT, { recursive: true, force: true });
	rmSync(DIAGRAMS, { recursive: true, force: true });
	const env = { ...process.env, ASTRO_TELEMETRY_DISABLED: "1" };
	const astro = `${SITE}/node_modules/astro/bin/astro.mjs`;
	const ended = spawnSync(process.execPath, [astro, "build"], { cwd: SITE, encoding: "utf8", env });
	if (ended.status !== 0) throw new Error(`astro build failed:\n${ended.stdout}${ended.stderr}`);
	cpSync(`${ROOT}docs/images`, `${OUT}/images`, { recursive: true });
	cpSync(DIAGRAMS, `${OUT}/diagrams`, { recursive: true });
	cpSync(`${ROOT}console/public/icon.svg`, `${OUT}/icon.svg`);
	const pages = filesBelow(OUT)
		.filter((path) => path.endsWith(".html"))
		.map((path): Page => ({ path: relative(OUT, path), html: readFileSync(path, "utf8") }));
	const dead = deadLinks(pages);
	if (dead.length > 0) throw new Error(`Dead links:\n${dead.join("\n")}`);
	const styles = new Map<string, string>();
	for (const { path, html } of pages) writeFileSync(join(OUT, path), relativeTo(path, external(html, styles)));
	for (const path of filesBelow(join(OUT, "assets")))
		if (path.endsWith(".js")) writeFileSync(path, relativeSearch(readFileSync(path, "utf8")));
	const rules = [...styles].map(([style, name]) => `.${name}{${style}}`).join("\n");
	writeFileSync(join(OUT, STYLES), `${rules}\n`);
	compressAll(OUT);
}

/** Style attributes as classes. */
const STYLES = "assets/attributes.css";

/** Inline scripts and styles as files: the policy of the service allows no inline ones. */
function external(html: string, styles: Map<string, string>): string {
	const link = `<link rel="stylesheet" href="${BASE}${STYLES}">`;
	return html
		.replace(/<script(?![^>]*\ssrc=)([^>]*)>([^]*?)<\/script>/g, (_, attributes: string, text: string) => {
			if (/type="application\/(?:ld\+)?json"/.test(attributes)) return "";
			return `<script${attributes} src="${BASE}${stored(text, "js")}"></script>`;
		})
		.replace(/<style([^>]*)>([^]*?)<\/style>/g, (_, __, text: string) => {
			return `<link rel="stylesheet" href="${BASE}${stored(text, "css")}">`;
		})
		.replace(/<(\w[\w-]*)((?:\s[^<>]*?)?)\sstyle="([^"]*)"([^<>]*)>/g, (_, tag, before, style, after) => {
			const name = styles.get(style) ?? `s${styles.size}`;
			styles.set(style, name);
			const rest = `${before}${after}`;
			const classed = /\sclass="/.test(rest)
				? rest.replace(/\sclass="/, ` class="${name} `)
				: ` class="${name}"${rest}`;
			return `<${tag}${classed}>`;
		})
		.replace("</head>", `${link}</head>`);
}

/** Writes a file named by its content; returns its path in the site. */
function stored(text: string, ending: string): string {
	const hash = createHash("sha256").update(text).digest("base64url").slice(0, 10);
	const path = `assets/inline.${hash}.${ending}`;
	mkdirSync(dirname(join(OUT, path)), { recursive: true });
	writeFileSync(join(OUT, path), text);
	return path;
}

/** Addresses relative to the page, so that the site works below any path of a proxy. */
function relativeTo(path: string, html: string): string {
	const up = "../".repeat(path.split("/").length - 1) || "./";
	return html.replace(/(\s(?:href|src|srcset))="\/docs\//g, `$1="${up}`);
}

/** The search finds its files and the pages from where its own script is. */
function relativeSearch(script: string): string {
	return script.replaceAll(`\`${BASE}\``, '(new URL("../",import.meta.url).pathname)');
}

/** Links to pages, files and headings that do not exist. */
function deadLinks(pages: readonly Page[]): string[] {
	const ids = new Map(
		pages.map(({ path, html }) => [path, new Set([...html.matchAll(/\sid="([^"]+)"/g)].map((match) => match[1]!))]),
	);
	return pages.flatMap(({ path, html }) =>
		[...html.matchAll(/\s(?:href|src)="([^"]*)"/g)]
			.map((match) => match[1]!)
			.filter((to) => !isAlive(to, path, ids))
			.map((to) => `${path}: ${to}`),
	);
}

function isAlive(to: string, from: string, ids: ReadonlyMap<string, Set<string>>): boolean {
	if (/^(?:https?:|mailto:|data:)/.test(to)) return true;
	const [address = "", hash = ""] = to.split("#");
	// Made by the service.
	if (address === `${BASE}api/`) return true;
	if (address !== "" && !address.startsWith(BASE)) return false;
	const target = address.slice(BASE.length);
	const path = address === "" ? from : target === "" || target.endsWith("/") ? `${target}index.html` : target;
	if (!ids.has(path)) return existsSync(join(OUT, path));
	return hash === "" || ids.get(path)!.has(decodeURIComponent(hash));
}

try {
	install();
	if (!isBuilt(ROOT, "docs", SOURCES)) {
		build();
		markBuilt(ROOT, "docs", SOURCES);
	}
} catch (error) {
	console.error((error as Error).message);
	process.exitCode = 1;
}
