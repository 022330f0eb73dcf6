/**
 * Builds `console/` into `dist/console/`, with each file compressed beside it. Does nothing while
 * what it is made of is the same.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

/** What it leaves in `dist/`: the bundle, and the hash of what that was made of. */
export const CONSOLE_FILES = ["console", "console.hash"];

/** Files that are shorter than this gain nothing from compression, bytes. */
const WORTH = 500;

/** Needs the development packages. `root` ends with a slash. */
export async function buildConsole(root: string): Promise<void> {
	const hash = hashOf(root);
	if (hash === read(`${root}dist/console.hash`) && existsSync(`${root}dist/console/index.html`))
		return;
	const { build } = await import("vite");
	await build({ configFile: `${root}console/vite.config.ts`, logLevel: "warn" });
	for (const path of filesBelow(`${root}dist/console`)) compress(path);
	writeFileSync(`${root}dist/console.hash`, hash);
}

/** Of the console's own files and of the versions of all packages. */
function hashOf(root: string): string {
	const hash = createHash("sha256");
	for (const path of [
		...filesBelow(`${root}console`),
		`${root}package-lock.json`,
		`${root}scripts/build-console.ts`,
	].toSorted())
		hash.update(path.slice(root.length)).update(readFileSync(path));
	return hash.digest("hex");
}

function read(path: string): string | undefined {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return undefined;
	}
}

function filesBelow(folder: string): string[] {
	return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
		entry.isFile() ? [`${entry.parentPath}/${entry.name}`] : [],
	);
}

function compress(path: string): void {
	const bytes = readFileSync(path);
	if (bytes.length < WORTH) return;
	writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
	writeFileSync(
		`${path}.br`,
		brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
	);
}
