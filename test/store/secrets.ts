/** Cases: encrypted texts, found and replaced (D22). */
import { expect, it } from "vitest";
import type { SealedJob } from "../../src/kernel/store/contract/access.ts";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import type { Bed } from "./index.ts";
import { alone, siteOf, T0 } from "./site.ts";

async function allJobs(store: Store): Promise<SealedJob[]> {
	const found: SealedJob[] = [];
	let after: string | undefined;
	do {
		const { jobs, next } = await store.secrets.jobs({ after });
		found.push(...jobs);
		after = next;
	} while (after !== undefined);
	return found;
}

export function secretCases({ open }: Bed): void {
	it("D22: jobs › those with s3Config, whatever their number and state", () =>
		alone(open, async (site) => {
			const { store, endpoint } = site;
			const other = siteOf(store);
			const ids: string[] = [];
			for (let number = 0; number < 1100; number += 100) {
				const s3Config = `sealed ${number}`;
				const jobs = await Promise.all([
					site.insert({ s3Config }),
					...Array.from({ length: 99 }, () => other.insert()),
				]);
				if (jobs[0]?.ok) ids.push(jobs[0].job.id);
			}
			await site.take({ limit: 1 });
			const found = await allJobs(store);
			expect(found.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
			expect(found.find(({ id }) => id === ids[1])).toEqual({
				endpoint,
				id: ids[1],
				s3Config: "sealed 100",
			});
		}));

	it("D22: replaceJob › only the text that it names; the job is dispatched with the new one", () =>
		alone(open, async (site) => {
			const { store, endpoint } = site;
			const answer = await site.insert({ s3Config: "old" });
			if (!answer.ok) throw new Error("The job was refused.");
			const { id } = answer.job;
			const of = { endpoint, id };
			expect(await store.secrets.replaceJob({ ...of, from: "other", to: "new" })).toBe(false);
			expect(await store.secrets.replaceJob({ ...of, from: "old", to: "new" })).toBe(true);
			expect(await store.secrets.replaceJob({ ...of, from: "old", to: "newer" })).toBe(false);
			expect(await store.secrets.replaceJob({ endpoint: "none", id, from: "new", to: "newer" })).toBe(false);
			const { jobs } = await site.take();
			expect(jobs.map(({ job }) => job.s3Config)).toEqual(["new"]);
		}));

	it("D22: replaceEndpoint › only the texts that it names; everything else of it stays", () =>
		alone(open, async ({ store }) => {
			const { endpoints, secrets } = store;
			await endpoints.put({ id: "a", settings: "old", secret: "s", now: T0 });
			await endpoints.put({ id: "b", settings: "old", now: T0 });
			await endpoints.pause({ id: "a", paused: true });
			const [from, to] = [
				{ settings: "old", secret: "s" },
				{ settings: "new", secret: "t" },
			];
			expect(await secrets.replaceEndpoint({ id: "b", from, to })).toBe(false);
			expect(await secrets.replaceEndpoint({ id: "a", from: { settings: "old" }, to })).toBe(false);
			expect(await secrets.replaceEndpoint({ id: "a", from, to })).toBe(true);
			expect(await secrets.replaceEndpoint({ id: "a", from, to })).toBe(false);
			const bare = { settings: "old" };
			expect(await secrets.replaceEndpoint({ id: "b", from: bare, to: { settings: "1" } })).toBe(true);
			const common = { removing: false, createdAt: T0 };
			expect((await endpoints.list()).toSorted((x, y) => x.id.localeCompare(y.id))).toEqual([
				{ id: "a", settings: "new", secret: "t", paused: true, ...common },
				{ id: "b", settings: "1", paused: false, ...common },
			]);
		}));
}
