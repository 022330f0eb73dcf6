/** Cases: releases of endpoints (D50). */
import { expect, it } from "vitest";
import type { ReleaseEntry, ReleaseRow } from "../../src/kernel/store/contract/endpoints.ts";
import type { Bed } from "./index.ts";
import { alone, T0 } from "./site.ts";

const row = (version: number, given: Partial<ReleaseRow> = {}): ReleaseRow => ({
	endpoint: "a",
	version,
	launchHash: `hash ${version}`,
	state: "unproven",
	failures: 0,
	source: "api",
	createdAt: T0,
	diff: "[]",
	settings: "sealed",
	...given,
});

/** As lists have it. */
function entry(row: ReleaseRow): ReleaseEntry {
	const { settings: _, ...shown } = row;
	return shown;
}

/** As the first page has it. */
const all = { endpoint: "a", before: Number.MAX_SAFE_INTEGER, limit: 1000 };

const put = { id: "a", settings: "{}", now: T0 };
const again = { ...put, before: { settings: "{}" } };

export function releaseCases({ open }: Bed): void {
	it("D50: are stored with the settings of their endpoint, listed from the newest, and removed with it", () =>
		alone(open, async ({ store: { endpoints, releases } }) => {
			const second = row(2, { createdBy: "key", reason: "It crashed.", source: "rollback" });
			await endpoints.put({ ...put, releases: { add: [row(1)], remove: [] } });
			await endpoints.put({ ...again, releases: { add: [second], fail: 1, remove: [] } });
			await endpoints.put({ ...put, id: "b", releases: { add: [row(1, { endpoint: "b" })], remove: [] } });
			const failed = row(1, { state: "failed" });
			expect(await releases.list(all)).toEqual([entry(second), entry(failed)]);
			expect(await releases.find({ endpoint: "a", version: 1 })).toEqual(failed);
			expect(await releases.find({ endpoint: "a", version: 3 })).toBeUndefined();
			for (const page of [
				{ before: 2, limit: 9 },
				{ before: 3, limit: 1 },
				{ before: 1, limit: 9 },
			]) {
				const found = await releases.list({ endpoint: "a", ...page });
				expect(found.map(({ version }) => version)).toEqual([2, 1].filter((n) => n < page.before).slice(0, page.limit));
				expect(await releases.size({ endpoint: "a", ...page })).toBe(2 * found.length);
			}
			const heads = (await releases.heads()).map(({ endpoint, version, state }) => [endpoint, version, state]);
			expect(heads).toEqual([
				["a", 1, "failed"],
				["a", 2, "unproven"],
				["b", 1, "unproven"],
			]);
			await endpoints.put({ ...again, releases: { add: [row(3)], remove: [1] } });
			expect((await releases.list(all)).map(({ version }) => version)).toEqual([3, 2]);
			await endpoints.remove({ id: "a" });
			expect(await endpoints.forget({ id: "a", now: T0 })).toBe(true);
			expect(await releases.list(all)).toEqual([]);
			expect(await releases.heads()).toHaveLength(1);
		}));

	it("D50: put › changes nothing where another server has added such a version", () =>
		alone(open, async ({ store: { endpoints, releases } }) => {
			expect(await endpoints.put({ ...put, releases: { add: [row(1)], remove: [] } })).toBe(true);
			const late = { ...again, settings: '{"late":1}' };
			const add = [row(1, { launchHash: "late" }), row(2)];
			expect(await endpoints.put({ ...late, releases: { add, fail: 1, remove: [] } })).toBe(false);
			expect(await endpoints.list()).toMatchObject([{ settings: "{}" }]);
			expect(await releases.list(all)).toEqual([entry(row(1))]);
			expect(await endpoints.put(late)).toBe(true);
		}));

	it("D50: prove, crashed › only while it is unproven", () =>
		alone(open, async ({ store: { endpoints, releases } }) => {
			await endpoints.put({ ...put, releases: { add: [row(1), row(2)], remove: [] } });
			const first = { endpoint: "a", version: 1 };
			expect([await releases.crashed(first), await releases.crashed(first), await releases.prove(first)]).toEqual([
				true,
				true,
				true,
			]);
			expect([await releases.crashed(first), await releases.prove(first)]).toEqual([false, false]);
			expect(await releases.list(all)).toEqual([row(2), row(1, { state: "healthy", failures: 2 })].map(entry));
			expect(await releases.prove({ endpoint: "none", version: 1 })).toBe(false);
		}));

	it("D22, D50: replace › only the text that it names", () =>
		alone(open, async ({ store: { endpoints, releases } }) => {
			await endpoints.put({ ...put, releases: { add: [row(1), row(2)], remove: [] } });
			const q = { endpoint: "a", version: 1, to: "new" };
			expect(await releases.replace({ ...q, from: "other" })).toBe(false);
			expect(await releases.replace({ ...q, from: "sealed" })).toBe(true);
			expect(await releases.find({ endpoint: "a", version: 1 })).toEqual(row(1, { settings: "new" }));
			expect(await releases.find({ endpoint: "a", version: 2 })).toEqual(row(2));
		}));
}
