/**
 * Wrong clocks by Debian's `faketime`: times of day that are set while servers and database run, and
 * a machine whose clock runs too fast.
 */
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Fault } from "./many-servers.ts";

const FOLDERS = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"];
const LIBRARY = "faketime/libfaketimeMT.so.1";

/** The most by which a time of day is set, seconds, forward and back. */
const MOST_S = 600;

/** Of the last server: all of its clocks run that much faster than those of the others. */
const RATE = 1.005;

export interface Clocks {
	/** Variables of the environment. */
	database: NodeJS.ProcessEnv;
	servers: NodeJS.ProcessEnv[];
	/** Sets the time of day of the database, or of a server whose monotonic clock is right. */
	set: Fault;
}

/** Whether the library is there. */
export function hasFaketime(): boolean {
	return pathOf() !== undefined;
}

function pathOf(): string | undefined {
	return FOLDERS.map((folder) => join(folder, LIBRARY)).find((path) => existsSync(path));
}

function libraryPath(): string {
	const library = pathOf();
	if (library === undefined) throw new Error("Wrong clocks need libfaketime: `apt-get install faketime`.");
	return library;
}

/** A time of day that is set; monotonic clocks stay. */
export interface SettableClock {
	/** Variables of the process's environment. */
	env: NodeJS.ProcessEnv;
	set(seconds: number): void;
}

/** `file` is made with the first offset. */
export function settableClock(file: string, seconds: number): SettableClock {
	const set = (offset: number): void =>
		writeFileSync(file, `${offset < 0 ? "" : "+"}${offset.toFixed(1)}s\n`, { mode: 0o644 });
	set(seconds);
	return {
		set,
		env: {
			LD_PRELOAD: libraryPath(),
			FAKETIME_TIMESTAMP_FILE: file,
			FAKETIME_DONT_FAKE_MONOTONIC: "1",
			FAKETIME_CACHE_DURATION: "1",
		},
	};
}

export function clocks(servers: number): Clocks {
	const folder = mkdtempSync(join(tmpdir(), "sluice-clocks-"));
	// PostgreSQL runs as another user.
	chmodSync(folder, 0o755);
	process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
	const settable = (name: string, seconds: number): SettableClock => settableClock(join(folder, name), seconds);
	const database = settable("database", MOST_S / 3);
	const fast = { LD_PRELOAD: libraryPath(), FAKETIME: `-${MOST_S / 2}s x${RATE}` };
	const slow = Array.from({ length: Math.max(1, servers - 1) }, (_, n) => settable(`server-${n}`, -MOST_S / 5));
	const all = [database, ...slow];
	return {
		database: database.env,
		servers: [...slow.map(({ env }) => env), fast].slice(0, servers),
		async set(random) {
			const which = Math.floor(random() * all.length);
			all[which]!.set((random() * 2 - 1) * MOST_S);
			return which === 0 ? "clock of the database set" : "clock of a server set";
		},
	};
}
