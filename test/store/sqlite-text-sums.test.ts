/** A changed byte within a text in a row of a SQLite file: noticed, and never handed out (D40). */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, onTestFinished } from "vitest";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import { openSqlite } from "../../src/kernel/store/sqlite/open.ts";
import { type Site, siteOf, T0 } from "./site.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-sums-"));
let files = 0;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const NEEDLE = "a needle that is in the file once";
const TEXT = JSON.stringify(NEEDLE);

/** Reopens a store after one byte of the needle has become another. */
async function damaged(furnish: (site: Site) => Promise<string>): Promise<{
	site: Site;
	store: Store;
	id: string;
}> {
	const path = join(folder, `${(files += 1)}.db`);
	const before = await openSqlite({ path });
	const made = siteOf(before);
	const id = await furnish(made);
	await before.close();
	const bytes = readFileSync(path);
	const at = bytes.indexOf(NEEDLE);
	expect(at).toBeGreaterThan(0);
	bytes[at + 3]! ^= 1;
	writeFileSync(path, bytes);
	const store = await openSqlite({ path });
	onTestFinished(() => store.close());
	return { store, site: { ...siteOf(store), endpoint: made.endpoint }, id };
}

const isDamaged = (column: string, id: string) => ({
	why: "damaged",
	message: expect.stringContaining(`the ${column} of job ${id} is not as it was written`),
});

async function ended(site: Site, outcome: { output: string } | { error: string }): Promise<string> {
	const { id } = await site.running();
	await site.report(id, "error" in outcome ? { on: "fail", ...outcome } : outcome);
	return id;
}

it("D40: an input is not handed out: its claim says why, and the next job is claimed with it", async () => {
	let next = "";
	const { store, site, id } = await damaged(async (made) => {
		const first = await made.add({ input: TEXT });
		next = (await made.add()).id;
		return first.id;
	});
	const { endpoint } = site;
	await expect(store.jobs.record({ endpoint, id, now: T0 })).rejects.toMatchObject(isDamaged("input", id));
	const claim = { endpoint, worker: "w", limit: 2, maxBytes: 1e6, now: T0 };
	const { message: damage } = isDamaged("input", id);
	expect((await store.jobs.claim(claim)).jobs).toMatchObject([
		{ job: { id }, input: undefined, damage },
		{ job: { id: next }, input: '{"a":1}' },
	]);
});

it.each([
	["output", (site: Site) => ended(site, { output: TEXT })],
	["error", (site: Site) => ended(site, { error: TEXT })],
] as const)("D40: an %s is not answered", async (column, furnish) => {
	const { store, site, id } = await damaged(furnish);
	await expect(store.jobs.get({ endpoint: site.endpoint, id, now: T0 })).rejects.toMatchObject(isDamaged(column, id));
});

it("D40: a chunk is not delivered", async () => {
	const { store, site, id } = await damaged(async (made) => {
		const job = await made.running();
		const { endpoint } = made;
		const chunks = ["1", TEXT];
		const worker = "w1";
		await made.store.chunks.append({
			endpoint,
			id: job.id,
			worker,
			chunks,
			unlessLast: false,
			now: T0,
		});
		return job.id;
	});
	const read = store.chunks.read({ endpoint: site.endpoint, id, from: 0, maxBytes: 1e6, now: T0 });
	await expect(read).rejects.toMatchObject(isDamaged("chunk", id));
});
