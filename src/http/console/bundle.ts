/** The built console: a folder of files, read once, when somebody first asks for one. */
import { createHash } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import { extname, join, sep } from "node:path";

/** A file of the bundle. */
export interface BundleFile {
	type: string;
	/** Of the content as it is, in the form of an ETag without its quotes. */
	tag: string;
	/** Its name holds a hash of its content, so that it never changes. */
	hashed: boolean;
	bytes: Buffer;
	/** The same, compressed when the console was built. */
	packed: ReadonlyMap<"br" | "gzip", Buffer>;
}

/** Files of the bundle by their paths, with `/` between folders; undefined while there is none. */
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

/** Endings of compressed forms that stand beside a file. */
const PACKED = { ".br": "br", ".gz": "gzip" } as const;

/** Where the build puts files whose names hold a hash. */
const HASHED = "assets/";

/** The bundle in this folder. */
export function bundle(folder: string): Bundle {
	let read: Promise<ReadonlyMap<string, BundleFile> | undefined> | undefined;
	return {
		files() {
			read ??= readFolder(folder).then(
				(files) => {
					// It may be built later.
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

/** All files; undefined where there is no page. */
async function readFolder(folder: string): Promise<ReadonlyMap<string, BundleFile> | undefined> {
	const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
	const paths = entries
		.filter((entry) => entry.isFile())
		.map((entry) => join(entry.parentPath, entry.name));
	const contents = new Map(
		await Promise.all(
			paths.map(
				async (path) =>
					[
						path.slice(join(folder, sep).length).replaceAll(sep, "/"),
						await readFile(path),
					] as const,
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
