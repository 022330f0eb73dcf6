/** What a store forgets when it becomes a copy with an identity of its own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import { openDatabase } from "../../src/kernel/store/sqlite/file/database.ts";
import { renewIdentity } from "../../src/kernel/store/sqlite/file/new-identity.ts";
import { verify } from "../../src/kernel/store/sqlite/file/verify.ts";
import { openSqlite } from "../../src/kernel/store/sqlite/open.ts";
import { siteOf, T0, TTL } from "./site.ts";

function newPath(): string {
	const folder = mkdtempSync(join(tmpdir(), "sluice-identity-"));
	onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
	return join(folder, "sluice.db");
}

function renew(path: string): void {
	const db = openDatabase({ path });
	try {
		renewIdentity(db, { checkOf: (identity) => `check of ${identity}`, now: T0 + 1000 });
	} finally {
		db.close();
	}
}

function inFile<T>(path: string, use: (db: DatabaseSync) => T): T {
	const db = new DatabaseSync(path);
	try {
		return use(db);
	} finally {
		db.close();
	}
}

const identityIn = (path: string): unknown =>
	inFile(path, (db) => db.prepare("SELECT value FROM meta WHERE name = 'identity'").get());

/** A store with two jobs at a launched worker, one at an external worker, one that was stopped at the launched one. */
async function busy(path: string, store: Store) {
	const site = siteOf(store);
	const { endpoint } = site;
	await store.workers.put({ id: "own", endpoint, launcher: "process", handle: '{"pid":1}', createdAt: T0 });
	for (const worker of ["own", "external"]) await store.tokens.put({ hash: worker, endpoint, worker, createdAt: T0 });
	const stopped = await site.running({ worker: "own" });
	await site.move(stopped.id, "cancel");
	const external = await site.running({ worker: "external" });
	const large = JSON.stringify("x".repeat(200_000));
	const launched = [await site.add(), await site.add({ input: large })].map(({ id }) => id);
	await site.take({ worker: "own", limit: 2 });
	await store.jobs.progress({ endpoint, id: launched[1]!, worker: "own", value: large, now: T0 });
	const later = await site.add();
	await store.close();
	return { path, endpoint, launched, external: external.id, stopped: stopped.id, later: later.id };
}

it("D46: a new identity forgets launched workers, whose jobs wait again before others and without a loss", async () => {
	const path = newPath();
	const { endpoint, launched, external, stopped, later } = await busy(path, await openSqlite({ path }));
	const before = identityIn(path);
	renew(path);
	expect(identityIn(path)).not.toEqual(before);
	expect((await verify(path, { migrate: false })).problems).toEqual([]);
	const store = await openSqlite({ path });
	onTestFinished(() => store.close());
	expect(await store.workers.list()).toEqual([]);
	expect(await store.tokens.list()).toMatchObject([{ worker: "external" }]);
	expect(await store.jobs.unstopped()).toEqual([]);
	expect(await store.jobs.running()).toMatchObject([{ id: external }]);
	for (const id of launched) {
		const found = await store.jobs.get({ endpoint, id, now: T0 + 1000 });
		expect(found?.job).toMatchObject({ state: "IN_QUEUE", losses: 0, queuedAt: T0 + 1000, dueAt: T0 + 1000 + TTL });
		expect(await store.jobs.attempts({ endpoint, id })).toMatchObject([
			{ worker: "own", end: "released", open: false },
		]);
	}
	expect((await store.jobs.get({ endpoint, id: stopped, now: T0 + 1000 }))?.job.state).toBe("CANCELLED");
	const { jobs } = await store.jobs.claim({ endpoint, worker: "new", limit: 9, maxBytes: 20_000_000, now: T0 + 1000 });
	expect(jobs.map(({ job }) => job.id)).toEqual([...launched, later]);
});

it("D46: a new identity that fails leaves the store as it was", async () => {
	const path = newPath();
	const { launched, external } = await busy(path, await openSqlite({ path }));
	const before = identityIn(path);
	inFile(path, (db) =>
		db.exec("CREATE TRIGGER fails BEFORE DELETE ON workers BEGIN SELECT RAISE(ABORT, 'no room'); END"),
	);
	expect(() => renew(path)).toThrow("no room");
	expect(identityIn(path)).toEqual(before);
	const store = await openSqlite({ path });
	onTestFinished(() => store.close());
	expect(await store.workers.list()).toHaveLength(1);
	const running = (await store.jobs.running()).map(({ id }) => id);
	expect(new Set(running)).toEqual(new Set([...launched, external]));
});
