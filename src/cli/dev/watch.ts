/** Watches source files and `.env`, not files that workers may write. */
import { type Dirent, type FSWatcher, readdirSync, statSync, watch } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../kernel/system/clock.ts";
import { ENV_FILE } from "./target.ts";

const SOURCES = /\.(?:py|[cm]?[jt]s|[jt]sx|go|rs|rb|php|java|sh)$/;
const SKIPPED = new Set(["node_modules", "venv", "__pycache__", "dist", "build", "target"]);

/** A home folder must not use up the system's watches. */
const MAX_FOLDERS = 500;
/** Editors save in several steps. */
const SETTLE_MS = 60;

export function watchSources(folder: string, clock: Clock, onChange: (path: string) => void): () => void {
	const watchers = new Map<string, FSWatcher>();
	const stopped = new AbortController();
	let versions = scan();
	let pending = false;

	function scan(): Map<string, string> {
		const files = new Map<string, string>();
		const folders = [folder];
		for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
			watchFolder(at);
			for (const entry of entriesOf(at)) {
				const path = join(at, entry.name);
				if (at === folder && entry.name === ENV_FILE) files.set(path, version(path));
				if (entry.name.startsWith(".") || SKIPPED.has(entry.name)) continue;
				if (entry.isDirectory() && watchers.size + folders.length < MAX_FOLDERS) folders.push(path);
				else if (SOURCES.test(entry.name)) files.set(path, version(path));
			}
		}
		return files;
	}

	function watchFolder(path: string): void {
		if (watchers.has(path)) return;
		try {
			const watcher = watch(path, () => void settle());
			watcher.on("error", () => unwatchFolder(path));
			watchers.set(path, watcher);
		} catch {
			// Removed since it was listed, or unreadable.
		}
	}

	function unwatchFolder(path: string): void {
		watchers.get(path)?.close();
		watchers.delete(path);
	}

	async function settle(): Promise<void> {
		if (pending) return;
		pending = true;
		await clock.sleep(SETTLE_MS, stopped.signal);
		pending = false;
		if (stopped.signal.aborted) return;
		for (const path of watchers.keys()) if (!statSync(path, { throwIfNoEntry: false })) unwatchFolder(path);
		const current = scan();
		const path = [...current.keys(), ...versions.keys()].find((each) => current.get(each) !== versions.get(each));
		versions = current;
		if (path !== undefined) onChange(path);
	}

	return () => {
		stopped.abort();
		for (const watcher of watchers.values()) watcher.close();
	};
}

function entriesOf(folder: string): Dirent[] {
	try {
		return readdirSync(folder, { withFileTypes: true });
	} catch {
		return [];
	}
}

function version(path: string): string {
	const stats = statSync(path, { throwIfNoEntry: false });
	return stats ? `${stats.mtimeMs} ${stats.size}` : "";
}
