/**
 * Tells when the source files of a folder change. What a worker writes there (data, pictures,
 * databases) is none of them: it would restart itself.
 */
import { readdirSync, statSync, watch } from "node:fs";
import type { FSWatcher } from "node:fs";
import { extname, join } from "node:path";
import type { Clock } from "../../clock.ts";

const SOURCES = new Set([
	".py",
	".js",
	".mjs",
	".cjs",
	".ts",
	".mts",
	".cts",
	".jsx",
	".tsx",
	".go",
	".rs",
	".rb",
	".php",
	".java",
	".sh",
]);
const SKIPPED = new Set(["node_modules", "venv", "__pycache__", "dist", "build", "target"]);

/**
 * Most folders that are watched; a home folder given by mistake must not use up what the system
 * has.
 */
const MOST_FOLDERS = 500;
/** Editors save in several steps, ms. */
const SETTLE_MS = 60;

/**
 * Calls `changed` with the path of a source file that was written, made or removed under `folder`.
 * The answer ends it.
 */
export function watchSources({
	folder,
	clock,
	changed,
}: {
	folder: string;
	clock: Clock;
	changed: (path: string) => void;
}): () => void {
	const watchers = new Map<string, FSWatcher>();
	const over = new AbortController();
	let seen = look();
	let pending = false;

	/** All source files with what tells one version from another; watches folders that are new. */
	function look(): Map<string, string> {
		const files = new Map<string, string>();
		const folders = [folder];
		for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
			attend(at);
			for (const entry of entriesOf(at)) {
				const path = join(at, entry.name);
				if (entry.name.startsWith(".") || SKIPPED.has(entry.name)) continue;
				if (entry.isDirectory() && watchers.size + folders.length < MOST_FOLDERS)
					folders.push(path);
				else if (SOURCES.has(extname(entry.name))) files.set(path, version(path));
			}
		}
		return files;
	}

	function attend(path: string): void {
		if (watchers.has(path)) return;
		try {
			const watcher = watch(path, () => void settle());
			watcher.on("error", () => leave(path));
			watchers.set(path, watcher);
		} catch {
			// Gone between the listing and now, or not readable.
		}
	}

	function leave(path: string): void {
		watchers.get(path)?.close();
		watchers.delete(path);
	}

	async function settle(): Promise<void> {
		if (pending) return;
		pending = true;
		await clock.sleep(SETTLE_MS, over.signal);
		pending = false;
		if (over.signal.aborted) return;
		for (const path of watchers.keys()) if (!statSync(path, { throwIfNoEntry: false })) leave(path);
		const now = look();
		const path = [...now.keys(), ...seen.keys()].find((each) => now.get(each) !== seen.get(each));
		seen = now;
		if (path !== undefined) changed(path);
	}

	return () => {
		over.abort();
		for (const watcher of watchers.values()) watcher.close();
	};
}

function entriesOf(folder: string): ReturnType<typeof list> {
	try {
		return list(folder);
	} catch {
		return [];
	}
}

function list(folder: string) {
	return readdirSync(folder, { withFileTypes: true });
}

function version(path: string): string {
	const found = statSync(path, { throwIfNoEntry: false });
	return found ? `${found.mtimeMs} ${found.size}` : "";
}
