/** Cases: endpoints as stored, paused, and on their way out (D39). */
import { expect, it } from "vitest";
import type { Bed } from "./index.ts";
import { alone, LEASE, type Site, siteOf, T0, TTL } from "./site.ts";

const HOOK = "https://example.org/hook";

export function endpointCases({ open }: Bed): void {
	it("put creates an endpoint or replaces its settings; list gives all", () =>
		alone(open, async ({ store }) => {
			expect(await store.endpoints.list()).toEqual([]);
			await store.endpoints.put({ id: "b", settings: '{"n": 1.0}', now: T0 });
			await store.endpoints.put({ id: "a", settings: "{}", now: T0 + 1 });
			const before = { settings: '{"n": 1.0}' };
			await store.endpoints.put({ id: "b", before, settings: '{"n": 2}', now: T0 + 2 });
			const all = (await store.endpoints.list()).toSorted((x, y) => x.id.localeCompare(y.id));
			expect(all).toEqual([
				{ id: "a", settings: "{}", paused: false, removing: false, createdAt: T0 + 1 },
				{ id: "b", settings: '{"n": 2}', paused: false, removing: false, createdAt: T0 },
			]);
		}));

	it("D21: put › the secret stays where none is given, and is replaced by another", () =>
		alone(open, async ({ store: { endpoints } }) => {
			const secret = async () => (await endpoints.list())[0]?.secret;
			await endpoints.put({ id: "a", settings: "{}", secret: "sealed", now: T0 });
			const before = { settings: "{}", secret: "sealed" };
			await endpoints.put({ id: "a", before, settings: "{}", now: T0 });
			expect(await secret()).toBe("sealed");
			await endpoints.put({ id: "a", before, settings: "{}", secret: "other", now: T0 });
			expect(await secret()).toBe("other");
		}));

	it("D39: pause and remove mark an endpoint, and report when there is none", () =>
		alone(open, async ({ store: { endpoints } }) => {
			await endpoints.put({ id: "a", settings: "{}", now: T0 });
			await endpoints.put({ id: "b", settings: "{}", now: T0 });
			expect(await endpoints.pause({ id: "a", paused: true })).toBe(true);
			expect(await endpoints.remove({ id: "b" })).toBe(true);
			await endpoints.put({ id: "a", before: { settings: "{}" }, settings: '{"n":1}', now: T0 + 1 });
			expect(await endpoints.list()).toMatchObject([
				{ id: "a", paused: true, removing: false, createdAt: T0 },
				{ id: "b", paused: false, removing: true },
			]);
			expect(await endpoints.pause({ id: "a", paused: false })).toBe(true);
			expect(await endpoints.list()).toMatchObject([{ id: "a", paused: false }, { id: "b" }]);
			// There is none, and the other is being deleted.
			for (const id of ["none", "b"])
				expect([await endpoints.pause({ id, paused: true }), await endpoints.remove({ id })]).toEqual([false, false]);
		}));

	it("D27: put › changes nothing where the endpoint is no longer as it was read", () =>
		alone(open, async ({ store: { endpoints } }) => {
			const before = { settings: "{}", secret: "sealed" };
			const late = { id: "a", settings: '{"late":1}', now: T0 };
			expect(await endpoints.put({ ...late, before })).toBe(false);
			expect(await endpoints.put({ id: "a", ...before, now: T0 })).toBe(true);
			for (const other of [
				undefined,
				{ settings: "{}" },
				{ ...before, secret: "other" },
				{ ...before, settings: "[]" },
			])
				expect(await endpoints.put({ ...late, before: other })).toBe(false);
			expect(await endpoints.list()).toMatchObject([before]);
			expect(await endpoints.put({ ...late, before })).toBe(true);
		}));

	it("D27: put › of several at once one is made", () =>
		alone(open, async ({ store: { endpoints } }) => {
			const all = (before?: { settings: string }) =>
				Promise.all(
					[1, 2, 3].map((n) => endpoints.put({ id: "a", before, settings: `${before?.settings ?? ""}${n}`, now: T0 })),
				);
			expect((await all()).filter(Boolean)).toEqual([true]);
			const { settings } = (await endpoints.list())[0]!;
			expect((await all({ settings })).filter(Boolean)).toEqual([true]);
		}));

	it("D39: put › nothing returns from a deletion", () =>
		alone(open, async ({ store: { endpoints } }) => {
			await endpoints.put({ id: "a", settings: "{}", now: T0 });
			await endpoints.remove({ id: "a" });
			for (const before of [undefined, { settings: "{}" }])
				expect(await endpoints.put({ id: "a", before, settings: "{}", now: T0 })).toBe(false);
			expect(await endpoints.list()).toMatchObject([{ removing: true }]);
			expect(await endpoints.forget({ id: "a", now: T0 })).toBe(true);
			expect(await endpoints.put({ id: "a", settings: "{}", now: T0 })).toBe(true);
		}));

	/** A site whose endpoint is stored. */
	async function known(site: Site): Promise<Site> {
		await site.store.endpoints.put({ id: site.endpoint, settings: "{}", now: T0 });
		return site;
	}

	it("D39: forget › only one that is being deleted; of an unknown one nothing is left", () =>
		alone(open, async (site) => {
			await known(site);
			const { endpoints } = site.store;
			expect(await endpoints.forget({ id: site.endpoint, now: T0 })).toBe(false);
			await endpoints.remove({ id: site.endpoint });
			expect(await endpoints.forget({ id: site.endpoint, now: T0 })).toBe(true);
			expect(await endpoints.list()).toEqual([]);
			expect(await endpoints.forget({ id: site.endpoint, now: T0 })).toBe(true);
		}));

	it("D39: forget › not while a job waits or runs; purged and lapsed ones do not", () =>
		alone(open, async (site) => {
			await known(site);
			const { endpoints } = site.store;
			const forget = (now = T0) => endpoints.forget({ id: site.endpoint, now });
			await endpoints.remove({ id: site.endpoint });
			const running = await site.running();
			expect(await forget()).toBe(false);
			await site.add();
			await site.report(running.id);
			expect(await forget()).toBe(false);
			await site.purge();
			await site.add({ ttlMs: 10_000 });
			expect(await forget(T0 + 9_999)).toBe(false);
			expect(await forget(T0 + 10_000)).toBe(true);
		}));

	it("D21, D39: forget › not while a delivery is pending", () =>
		alone(open, async (site) => {
			await known(site);
			const { endpoints, webhooks } = site.store;
			await endpoints.remove({ id: site.endpoint });
			const { id } = await site.running({ webhook: HOOK });
			await site.report(id);
			expect(await endpoints.forget({ id: site.endpoint, now: T0 })).toBe(false);
			const { due } = await webhooks.claim({
				limit: 1,
				each: 1,
				skip: [],
				holdMs: 1,
				now: T0,
			});
			await webhooks.tried({
				id: due[0]?.id ?? "",
				tried: { at: T0, tookMs: 1, status: 500 },
				state: "failed",
			});
			expect(await endpoints.forget({ id: site.endpoint, now: T0 })).toBe(true);
		}));

	it("D13, D26: forget › totals and worker tokens go with it; another endpoint keeps its own", () =>
		alone(open, async (site) => {
			await known(site);
			const other = siteOf(site.store);
			const { endpoints, tokens } = site.store;
			for (const { endpoint, running, report } of [site, other]) {
				await tokens.put({
					hash: `h-${endpoint}`,
					endpoint,
					worker: `w-${endpoint}`,
					createdAt: T0,
				});
				await tokens.put({ hash: `m-${endpoint}`, endpoint, createdAt: T0 });
				await report((await running()).id);
				await report((await running()).id, { on: "fail" });
			}
			await endpoints.remove({ id: site.endpoint });
			expect(await endpoints.forget({ id: site.endpoint, now: T0 })).toBe(true);
			const totals = { inQueue: 0, inProgress: 0, completed: 1, failed: 1, retried: 0 };
			expect(await site.counts()).toEqual({ ...totals, completed: 0, failed: 0 });
			expect(await other.counts()).toEqual(totals);
			for (const hash of [`h-${site.endpoint}`, `m-${site.endpoint}`])
				expect(await tokens.find({ hash })).toBeUndefined();
			for (const hash of [`h-${other.endpoint}`, `m-${other.endpoint}`])
				expect(await tokens.find({ hash })).toBeDefined();
		}));

	it("D15: forget › a run whose lease ended has not ended", () =>
		alone(open, async (site) => {
			await known(site);
			const { endpoints } = site.store;
			await endpoints.remove({ id: site.endpoint });
			await site.running();
			expect(await endpoints.forget({ id: site.endpoint, now: T0 + LEASE })).toBe(false);
			expect(await endpoints.forget({ id: site.endpoint, now: T0 + LEASE + TTL })).toBe(true);
		}));
}
