/** What the builds of the console and of the documentation share: their cache, compressed copies. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

/** Files that are shorter than this gain nothing from compression, bytes. */
const WORTH = 500;

/** Compressed already. */
const PACKED = /\.(?:webp|png|woff2|pagefind|pf_\w+|gz|br)$/;

/** Whether a part of `dist/` was built of the same sources, and `file` is there. `root` ends with a slash. */
export function isBuilt(
	root: string,
	part: string,
	sources: readonly string[],
	file = `dist/${part}/index.html`,
): boolean {
	const known = `${root}dist/${part}.hash`;
	return existsSync(root + file) && existsSync(known) && readFileSync(known, "utf8") === hashOf(root, sources);
}

export function markBuilt(root: string, part: string, sources: readonly string[]): void {
	writeFileSync(`${root}dist/${part}.hash`, hashOf(root, sources));
}

/** Of files and of all files in folders. */
function hashOf(root: string, sources: readonly string[]): string {
	const hash = createHash("sha256");
	for (const path of [...sources, "scripts/built-files.ts"]
		.map((each) => root + each)
		.flatMap((each) => (statSync(each).isFile() ? [each] : filesBelow(each)))
		.toSorted())
		hash.update(path.slice(root.length)).update(readFileSync(path));
	return hash.digest("hex");
}

export function filesBelow(folder: string): string[] {
	return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
		entry.isFile() ? [`${entry.parentPath}/${entry.name}`] : [],
	);
}

/** Writes compressed copies next to the files. */
export function compressAll(folder: string): void {
	for (const path of filesBelow(folder)) {
		const bytes = readFileSync(path);
		if (bytes.length < WORTH || PACKED.test(path)) continue;
		writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
		writeFileSync(
			`${path}.br`,
			brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
		);
	}
}
