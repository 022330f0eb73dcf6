/**
 * Builds `console/` into `dist/console/`, with each file compressed next to it. Does nothing while
 * what it is made of is the same.
 */
import { compressAll, isBuilt, markBuilt } from "./built-files.ts";

/** The console's own files, and the versions of all packages. */
const SOURCES = ["console", "package-lock.json", "scripts/build-console.ts"];

/** Needs the development packages. `root` ends with a slash. */
export async function buildConsole(root: string): Promise<void> {
	if (isBuilt(root, "console", SOURCES)) return;
	const { build } = await import("vite");
	await build({ configFile: `${root}console/vite.config.ts`, logLevel: "warn" });
	compressAll(`${root}dist/console`);
	markBuilt(root, "console", SOURCES);
}
