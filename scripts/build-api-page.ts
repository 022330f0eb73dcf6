/**
 * Builds `dist/reference/`: the definitions of `src/kernel/api` as `openapi.json`, and as the page `/docs/api/`
 * with its style and script.
 */
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { ROUTES } from "../src/modules/tables.ts";
import { version } from "../src/kernel/version.ts";
import { openapiOf } from "./api-page/openapi.ts";
import { docsPage } from "./api-page/page.ts";
import { compressAll } from "./built-files.ts";

/** Named in the examples until the page's script knows better. */
const TARGET = { address: "http://127.0.0.1:8080", endpoint: "thumbnail" };

/** `root` ends with a slash. */
export function buildApiPage(root: string): void {
	const folder = `${root}dist/reference`;
	rmSync(folder, { recursive: true, force: true });
	mkdirSync(folder, { recursive: true });
	const document = openapiOf(ROUTES, version);
	writeFileSync(`${folder}/openapi.json`, JSON.stringify({ ...document, servers: [{ url: "/" }] }));
	writeFileSync(`${folder}/index.html`, docsPage(document, TARGET));
	for (const file of ["page.css", "page.js"]) cpSync(`${root}scripts/api-page/${file}`, `${folder}/${file}`);
	compressAll(folder);
}
