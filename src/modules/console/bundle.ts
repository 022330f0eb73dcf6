/** Files of a built site, read at the first request. */
import { createHash } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import { extname, join, sep } from "node:path";

export interface BundleFile {
	type: string;
	/** ETag of the uncompressed content, unquoted. */
	tag: string;
	/** The name contains a content hash, so the file is cacheable forever. */
	hashed: boolean;
	bytes: Buffer;
	packed: ReadonlyMap<"br" | "gzip", Buffer>;
}

/** Files by path. Undefined until the site is built. */
export interface Bundle {
	files(): Promise<ReadonlyMap<string, BundleFile> | undefined>;
}

const TYPES: Readonly<Record<string, string>> = {
	".html": "text/html; charset=utf-8",
	".js": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
	".json": "application/json",
	".map": "application/json",
	".txt": "text/plain; charset=utf-8",
	".svg": "image/svg+xml",
	".png": "image/png",
	".ico": "image/x-icon",
	".webp": "image/webp",
	".woff2": "font/woff2",
	".webmanifest": "application/manifest+json",
};

const PACKED = { ".br": "br", ".gz": "gzip" } as const;

const HASHED = "assets/";

export function bundle(folder: string): Bundle {
	let read: Promise<ReadonlyMap<string, BundleFile> | undefined> | undefined;
	return {
		files() {
			read ??= readFolder(folder).then(
				(files) => {
					// The site may be built later.
					if (!files) read = undefined;
					return files;
				},
				(error: unknown) => {
					read = undefined;
					throw error;
				},
			);
			return read;
		},
	};
}

/** Undefined without a page. */
async function readFolder(folder: string): Promise<ReadonlyMap<string, BundleFile> | undefined> {
	const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
	const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
	const contents = new Map(
		await Promise.all(
			paths.map(
				async (path) => [path.slice(join(folder, sep).length).replaceAll(sep, "/"), await readFile(path)] as const,
			),
		),
	);
	const files = new Map<string, BundleFile>();
	for (const [path, bytes] of contents) {
		const ending = extname(path);
		if (ending in PACKED) continue;
		const packed = new Map(
			Object.entries(PACKED).flatMap(([suffix, coding]) =>
				contents.has(path + suffix) ? [[coding, contents.get(path + suffix)!]] : [],
			),
		);
		const tag = createHash("sha256").update(bytes).digest("base64url").slice(0, 22);
		files.set(path, {
			type: TYPES[ending] ?? "application/octet-stream",
			tag,
			hashed: path.startsWith(HASHED),
			bytes,
			packed,
		});
	}
	return files.has("index.html") ? files : undefined;
}
