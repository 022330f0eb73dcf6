/** The service's side of the database thread, with a real thread. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Store } from "../../contract/store.ts";
import { openSqlite } from "../open.ts";

const NOW = 1_800_000_000_000;
const MINUTE = 60_000;

async function openStore(): Promise<Store> {
	const folder = mkdtempSync(join(tmpdir(), "sluice-client-"));
	const store = await openSqlite({ path: join(folder, "sluice.db") });
	onTestFinished(async () => {
		await store.close();
		rmSync(folder, { recursive: true, force: true });
	});
	return store;
}

const insert = (store: Store, id: string, input: string | Uint8Array[] = "{}") =>
	store.jobs.insert({
		submission: {
			id,
			endpoint: "e",
			operation: "run",
			lowPriority: false,
			ttlMs: MINUTE,
			executionTimeoutMs: MINUTE,
			leaseMs: MINUTE,
			retainMs: MINUTE,
			recordMs: MINUTE,
		},
		input,
		now: NOW,
	});
const claim = (store: Store) => store.jobs.claim({ endpoint: "e", worker: "w", limit: 1000, maxBytes: 1e6, now: NOW });

it("of a batch that cannot be sent each caller gets an error, and later batches are answered", async () => {
	const store = await openStore();
	const uncloneable = (() => {}) as never;
	const results = await Promise.allSettled([
		insert(store, "a"),
		store.tokens.put({ worker: "w", hash: uncloneable } as never),
		insert(store, "b"),
	]);
	const refused = {
		status: "rejected",
		reason: { message: expect.stringContaining("could not be cloned") },
	};
	expect(results).toMatchObject([refused, refused, refused]);
	// The batch that waits behind one that cannot be sent is sent too.
	const large = `"${"x".repeat(20_000_000)}"`;
	const failing = Promise.all([
		insert(store, "c", large),
		store.tokens.put({ worker: "w", hash: uncloneable } as never),
	]);
	const next = insert(store, "d", large);
	await expect(failing).rejects.toThrow();
	await expect(next).resolves.toMatchObject({ ok: true });
	expect((await claim(store)).jobs.map(({ job }) => job.id)).toEqual(["d"]);
});

it("a store that is closed while a batch cannot be sent closes all the same", async () => {
	const store = await openStore();
	const failing = store.tokens.put({ worker: "w", hash: () => {} } as never);
	await Promise.all([expect(failing).rejects.toThrow("could not be cloned"), store.close()]);
});

it("D17: claims find each job that is submitted in their turn once, however the turn is cut into batches", async () => {
	const store = await openStore();
	await claim(store);
	for (let round = 0; round < 20; round += 1) {
		const ids = Array.from({ length: 100 }, (_, n) => `job-${round}-${n}`);
		const first = claim(store);
		const inserts = ids.map((id) => insert(store, id));
		const claims = [await first, await claim(store)];
		await Promise.all(inserts);
		expect(claims.flatMap(({ jobs }) => jobs.map(({ job }) => job.id))).toEqual(ids);
	}
});

it("T11: a claim finds all jobs that are inserted in its turn, before it and after it", async () => {
	const store = await openStore();
	for (let round = 0; round < 20; round += 1) {
		const ids = Array.from({ length: 100 }, (_, n) => `job-${round}-${n}`);
		const before = ids.slice(0, 50).map((id) => insert(store, id));
		const claimed = claim(store);
		const after = ids.slice(50).map((id) => insert(store, id));
		await Promise.all([...before, ...after]);
		expect((await claimed).jobs.map(({ job }) => job.id)).toEqual(ids);
	}
});
