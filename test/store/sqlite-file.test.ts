/** What happens to a store whose file or log is deleted, replaced or incomplete. */
import {
	copyFileSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	symlinkSync,
	unlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { stringOf } from "../../src/kernel/lib/json/json-text.ts";
import { openDatabase } from "../../src/kernel/store/sqlite/file/database.ts";
import { openSqlite } from "../../src/kernel/store/sqlite/open.ts";
import type { Signal, Store } from "../../src/kernel/store/contract/store.ts";
import { migrateStore } from "../../src/kernel/stores.ts";
import { siteOf, T0 } from "./site.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-file-"));
let files = 0;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function newPath(): string {
	const path = join(folder, `${(files += 1)}`, "sluice.db");
	mkdirSync(dirname(path));
	return path;
}

async function open(path: string): Promise<Store> {
	const store = await openSqlite({ path });
	onTestFinished(() => store.close());
	return store;
}

/** How a file disappears while the store is open; returns what puts it back. */
const LOSSES: [string, (path: string) => (() => void) | void][] = [
	[
		"the file was moved",
		(path) => {
			renameSync(path, `${path}.old`);
			return () => renameSync(`${path}.old`, path);
		},
	],
	[
		"the file was replaced by a copy",
		(path) => {
			renameSync(path, `${path}.old`);
			copyFileSync(`${path}.old`, path);
			return () => renameSync(`${path}.old`, path);
		},
	],
	[
		"its folder was renamed",
		(path) => {
			renameSync(dirname(path), `${dirname(path)}-old`);
			return () => renameSync(`${dirname(path)}-old`, dirname(path));
		},
	],
	[
		"the log was moved",
		(path) => {
			renameSync(`${path}-wal`, `${path}-wal.old`);
			return () => renameSync(`${path}-wal.old`, `${path}-wal`);
		},
	],
	["the file was deleted", unlinkSync],
	["the log was deleted", (path) => unlinkSync(`${path}-wal`)],
];

describe("a SQLite file that is deleted or replaced while it is open", () => {
	it.each(LOSSES)("D17: nothing is acknowledged once %s; it goes on when the files are back", async (_, lose) => {
		const path = newPath();
		const store = await open(path);
		const site = siteOf(store);
		const running = await site.running();
		const { id } = await site.add();
		const restore = lose(path);
		const signals: Signal[] = [];
		store.onSignal((signal) => signals.push(signal));
		await expect(site.add(), "a commit in flight").rejects.toMatchObject({
			why: "moved",
			unsure: true,
		});
		const refused = await Promise.allSettled([site.add(), site.report(running.id), site.take(), store.ping()]);
		for (const each of refused) expect(each).toMatchObject({ reason: { why: "moved", unsure: false } });
		expect(signals).toEqual([]);
		expect(await site.state(id)).toBe("IN_QUEUE");
		if (!restore) return;
		restore();
		await store.ping();
		expect(signals).toEqual([{ kind: "lost" }]);
		await site.report(running.id);
		expect(await site.state(running.id)).toBe("COMPLETED");
	});

	it("D17: a symbolic link is followed: to the file, and to the log beside it", async () => {
		const path = newPath();
		const link = join(dirname(newPath()), "link.db");
		symlinkSync(path, link);
		const store = await open(link);
		const site = siteOf(store);
		await site.add();
		unlinkSync(link);
		await expect(site.add()).rejects.toMatchObject({ why: "moved" });
		symlinkSync(path, link);
		await store.ping();
		unlinkSync(`${path}-wal`);
		await expect(site.add()).rejects.toMatchObject({ why: "moved" });
	});
});

/** How payload files disappear while the store is open; returns what puts them back. */
const PAYLOAD_LOSSES: [string, (folder: string) => (() => void) | void][] = [
	[
		"their folder was moved",
		(folder) => {
			renameSync(folder, `${folder}.old`);
			return () => renameSync(`${folder}.old`, folder);
		},
	],
	[
		"one was moved",
		(folder) => {
			renameSync(join(folder, "1"), join(folder, "../1"));
			return () => renameSync(join(folder, "../1"), join(folder, "1"));
		},
	],
	[
		"one was replaced",
		(folder) => {
			renameSync(join(folder, "1"), join(folder, "../1"));
			writeFileSync(join(folder, "1"), "");
			return () => renameSync(join(folder, "../1"), join(folder, "1"));
		},
	],
	["their folder was deleted", (folder) => rmSync(folder, { recursive: true })],
	["one was deleted", (folder) => unlinkSync(join(folder, "1"))],
];

const LARGE = JSON.stringify({ text: "x".repeat(100_000) });

describe("payload files that are deleted or replaced while the store is open", () => {
	it.each(PAYLOAD_LOSSES)("D17: once %s, a read of its texts says so, and all else goes on", async (_, lose) => {
		const path = newPath();
		const before = await open(path);
		const earlier = siteOf(before);
		const { endpoint } = earlier;
		const { id } = await earlier.add({ input: [Buffer.from(LARGE)] });
		await before.close();
		const store = await open(path);
		const restore = lose(`${path}.payloads`);
		await expect(store.jobs.record({ endpoint, id, now: T0 })).rejects.toMatchObject({
			why: expect.stringMatching("unreadable|damaged"),
			message: expect.stringMatching(/sluice\.db\.payloads\/1 (cannot be read|is damaged): .+estore a backup\.$/),
		});
		await store.ping();
		const other = siteOf(store);
		await other.add();
		expect((await other.take()).jobs).toHaveLength(1);
		if (!restore) return;
		restore();
		expect(stringOf((await store.jobs.record({ endpoint, id, now: T0 }))?.input ?? "")).toBe(LARGE);
	});
});

/** Files of an open store, copied: of two waiting jobs the file has one, the log the other. */
async function copied(files: readonly string[]): Promise<{ path: string; endpoint: string }> {
	const path = newPath();
	const store = await open(path);
	const site = siteOf(store);
	await site.add();
	await site.add();
	const copy = newPath();
	for (const suffix of files) copyFileSync(path + suffix, copy + suffix);
	return { path: copy, endpoint: site.endpoint };
}

const waiting = async (path: string, endpoint: string): Promise<number> => {
	const store = await openSqlite({ path });
	try {
		return (await store.jobs.counts({ endpoint, now: T0 })).inQueue;
	} finally {
		await store.close();
	}
};

describe("a SQLite file without its log", () => {
	it("D17: a copy of the file alone is refused until the operator accepts the loss", async () => {
		const { path, endpoint } = await copied([""]);
		const refused = /copied or restored without its log .*sluice migrate --store .* --accept-missing-log/;
		for (const check of [false, true])
			await expect(migrateStore({ address: { kind: "sqlite", path }, check })).rejects.toThrow(refused);
		await expect(openSqlite({ path })).rejects.toThrow(refused);
		writeFileSync(`${path}-wal`, "");
		await expect(openSqlite({ path }), "an empty log").rejects.toThrow(refused);
		await migrateStore({ address: { kind: "sqlite", path }, check: false, acceptMissingLog: true });
		expect(await waiting(path, endpoint)).toBe(1);
	});

	it("D17: a copy of both files, and the file of a closed store, have all jobs", async () => {
		const { path, endpoint } = await copied(["", "-wal"]);
		expect(await waiting(path, endpoint)).toBe(2);
		expect(existsSync(`${path}-wal`)).toBe(false);
		const alone = newPath();
		copyFileSync(path, alone);
		expect(await waiting(alone, endpoint)).toBe(2);
	});

	it("D17: after a crash, another program that merges the log leaves a complete file", async () => {
		const { path, endpoint } = await copied(["", "-wal"]);
		const other = new DatabaseSync(path);
		other.prepare("SELECT count(*) FROM jobs").get();
		other.close();
		expect(existsSync(`${path}-wal`)).toBe(false);
		expect(await waiting(path, endpoint)).toBe(2);
	});

	it("D17: a copy of the file alone is refused after each checkpoint of its log", async () => {
		const path = newPath();
		const site = siteOf(await open(path));
		const before = statSync(path).size;
		const input = JSON.stringify("x".repeat(1_000_000));
		for (let n = 0; n < 40; n += 1) {
			await site.add({ input });
			const copy = newPath();
			copyFileSync(path, copy);
			expect(() => openDatabase({ path: copy }), `after ${n} jobs`).toThrow("without its log");
		}
		expect(statSync(path).size).toBeGreaterThan(before + 30_000_000);
	});
});

it("D40: calls that need a damaged page are refused with the reason and the way out; the others go on", async () => {
	const path = newPath();
	const first = await openSqlite({ path });
	const site = siteOf(first);
	const input = JSON.stringify("x".repeat(20_000));
	const ids: string[] = [];
	for (let n = 0; n < 100; n += 1) ids.push((await site.add({ input })).id);
	await first.close();
	const bytes = readFileSync(path);
	// Only pages of inputs: those of the rows are read at the start.
	const half = 4096 * Math.floor(bytes.length / 8192);
	for (let at = half; at < half * 1.5; at += 4096)
		if (bytes.toString("latin1", at + 100, at + 4096) === "x".repeat(3996)) bytes.fill(0xff, at, at + 4096);
	writeFileSync(path, bytes);
	const store = await open(path);
	const answers = await Promise.allSettled(
		ids.map((id) => store.jobs.record({ endpoint: site.endpoint, id, now: T0 })),
	);
	const faults = answers.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
	expect(faults.length).toBeGreaterThan(10);
	expect(faults.length).toBeLessThan(90);
	for (const fault of faults)
		expect(fault).toMatchObject({
			why: "damaged",
			message: expect.stringMatching(/is damaged: .*restore a backup/),
		});
});
