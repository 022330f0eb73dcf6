/** What happens to a store whose file or log is deleted, replaced or incomplete. */
import {
	copyFileSync,
	mkdirSync,
	mkdtempSync,
	renameSync,
	rmSync,
	symlinkSync,
	unlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { openSqlite } from "../../src/store/sqlite/open.ts";
import type { Signal, Store } from "../../src/store/contract/store.ts";
import { siteOf } from "./site.ts";

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
	it.each(LOSSES)(
		"D17: nothing is acknowledged once %s; it goes on when the files are back",
		async (_, lose) => {
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
			const refused = await Promise.allSettled([
				site.add(),
				site.report(running.id),
				site.take(),
				store.ping(),
			]);
			for (const each of refused)
				expect(each).toMatchObject({ reason: { why: "moved", unsure: false } });
			expect(signals).toEqual([]);
			expect(await site.state(id)).toBe("IN_QUEUE");
			if (!restore) return;
			restore();
			await store.ping();
			expect(signals).toEqual([{ kind: "lost" }]);
			await site.report(running.id);
			expect(await site.state(running.id)).toBe("COMPLETED");
		},
	);

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
