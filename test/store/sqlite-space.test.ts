/** Free space of a SQLite file returns to the file system. */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openSqlite } from "../../src/kernel/store/sqlite/open.ts";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import { verify } from "../../src/kernel/store/sqlite/file/verify.ts";
import { until } from "../support/until.ts";
import { type Site, siteOf, T0 } from "./site.ts";

const MB = 1_000_000;

function newPath(): string {
	const folder = mkdtempSync(join(tmpdir(), "sluice-space-"));
	onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
	return join(folder, "sluice.db");
}

/** Adds jobs of 1 MB each. */
async function fill(store: Store, jobs: number): Promise<Site> {
	const site = siteOf(store);
	const input = JSON.stringify("x".repeat(MB));
	for (let n = 0; n < jobs; n += 1) await site.add({ input });
	return site;
}

it("D40: after a purge the file shrinks while the store is idle, and the store goes on", async () => {
	const path = newPath();
	const store = await openSqlite({ path });
	onTestFinished(() => store.close());
	await (await fill(store, 80)).purge();
	// Each step removes some of the purged rows.
	for (let step = 0; step < 10; step += 1) await store.jobs.settle({ now: T0, limit: 1000 });
	expect(statSync(path).size).toBeGreaterThan(60 * MB);
	const site = siteOf(store);
	const { id } = await site.add();
	await until("a file of the free pages that are kept", () => statSync(path).size < 25 * MB);
	expect(await site.state(id)).toBe("IN_QUEUE");
	expect(await site.takeIds()).toEqual([id]);
});

it("D40: after a purge the file shrinks while jobs arrive without a pause", async () => {
	const path = newPath();
	const store = await openSqlite({ path });
	const site = await fill(store, 40);
	await site.purge();
	for (let step = 0; step < 10; step += 1) await store.jobs.settle({ now: T0, limit: 1000 });
	const full = statSync(path).size;
	let shrunk = false;
	const arriving = (async () => {
		while (!shrunk) await site.add();
	})();
	await until("a shorter file", () => statSync(path).size < full - 4 * MB);
	shrunk = true;
	await arriving;
	await store.close();
	expect((await verify(path, { migrate: false })).problems).toEqual([]);
});
