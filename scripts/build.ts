/**
 * Bundles `src/` into `dist/`, copies the migrations there, and builds the worker kit, the API reference, and the
 * console where it has changed.
 */
import { cpSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildApiPage } from "./build-api-page.ts";
import { buildConsole } from "./build-console.ts";
import { buildService } from "./build-service.ts";
import { buildWorker } from "./build-worker.ts";

/** Of other builds: the sites, and the hashes of what they were made of. */
const KEPT = ["console", "console.hash", "docs", "docs.hash"];

const root = fileURLToPath(new URL("..", import.meta.url));
mkdirSync(`${root}dist`, { recursive: true });
for (const name of readdirSync(`${root}dist`))
	if (!KEPT.includes(name)) rmSync(`${root}dist/${name}`, { recursive: true });
await buildWorker(root);
await buildService(root);
for (const dialect of ["sqlite", "postgres"])
	cpSync(`${root}src/kernel/store/${dialect}/migrations`, `${root}dist/kernel/store/${dialect}/migrations`, {
		recursive: true,
	});
buildApiPage(root);
await buildConsole(root);
