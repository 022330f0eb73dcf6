/**
 * Bundles `src/` into `dist/`, copies the migrations there, and builds the worker kit, the API reference and the
 * console. Does nothing while what they are made of is the same: each command of `package.json` builds first.
 */
import { cpSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildApiPage } from "./build-api-page.ts";
import { buildConsole } from "./build-console.ts";
import { buildService } from "./build-service.ts";
import { buildWorker } from "./build-worker.ts";
import { isBuilt, markBuilt } from "./built-files.ts";

/** Of other builds: the sites, and the hashes of what they were made of. */
const KEPT = ["console", "console.hash", "docs", "docs.hash"];

/** Of all but the sites. */
const SOURCES = [
	...["src", "packages/worker/src", "packages/worker/package.json", "packages/worker/tsconfig.json"],
	...["scripts", "package.json", "package-lock.json", "tsconfig.json"],
];

const root = fileURLToPath(new URL("..", import.meta.url));
mkdirSync(`${root}dist`, { recursive: true });
if (!isBuilt(root, "service", SOURCES, "packages/worker/dist/index.js")) {
	for (const name of readdirSync(`${root}dist`))
		if (!KEPT.includes(name)) rmSync(`${root}dist/${name}`, { recursive: true });
	await buildWorker(root);
	await buildService(root);
	for (const dialect of ["sqlite", "postgres"])
		cpSync(`${root}src/kernel/store/${dialect}/migrations`, `${root}dist/kernel/store/${dialect}/migrations`, {
			recursive: true,
		});
	buildApiPage(root);
	markBuilt(root, "service", SOURCES);
}
await buildConsole(root);
