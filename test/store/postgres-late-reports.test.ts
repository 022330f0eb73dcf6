/** Late reports where two servers share the store: each job has one outcome, whichever call is first (D16). */
import { expect, it } from "vitest";
import { systemClock } from "../../src/kernel/system/clock.ts";
import { openPostgres } from "../../src/kernel/store/postgres/open.ts";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import { postgres } from "../support/postgres.ts";
import { type Site, siteOf, T0 } from "./site.ts";

const ROUNDS = 60;

/** The site of one server, and the store of another that shares the database. */
async function two(onTestFinished: (end: () => Promise<void>) => void): Promise<{ site: Site; other: Store }> {
	const { url } = await (await postgres()).createDatabase();
	const open = async (): Promise<Store> => {
		const store = await openPostgres({ url, clock: systemClock });
		onTestFinished(() => store.close());
		return store;
	};
	return { site: siteOf(await open()), other: await open() };
}

it("D16: of a late result and a claim at another server one wins", async ({ onTestFinished }) => {
	const { site, other } = await two(onTestFinished);
	const { endpoint } = site;
	for (let round = 0; round < ROUNDS; round += 1) {
		const { id } = await site.running();
		await site.move(id, "lose", { attempt: 1 });
		const claiming = { endpoint, worker: "w2", limit: 1, maxBytes: 1000, now: T0 };
		const [report, claim] = await Promise.all([site.report(id, { output: "1" }), other.jobs.claim(claiming)]);
		const isClaimed = claim.jobs.length > 0;
		expect(report.ok).toBe(!isClaimed);
		if (isClaimed) {
			const outcome = { on: "complete", output: "2" } as const;
			expect(await other.jobs.report({ endpoint, id, worker: "w2", outcome, now: T0 })).toMatchObject({ ok: true });
		}
		expect(await site.get(id)).toMatchObject({ output: isClaimed ? "2" : "1", job: { state: "COMPLETED" } });
		expect(await site.counts()).toMatchObject({ inQueue: 0, inProgress: 0, completed: round + 1 });
	}
});

it("D16: a result counts beside the loss of its attempt at another server", async ({ onTestFinished }) => {
	const { site, other } = await two(onTestFinished);
	const { endpoint } = site;
	for (let round = 0; round < ROUNDS; round += 1) {
		const { id } = await site.running();
		const [, report] = await Promise.all([
			other.jobs.move({ endpoint, id, on: "lose", attempt: 1, now: T0 }),
			site.report(id, { output: "1" }),
		]);
		expect(report).toMatchObject({ ok: true, job: { state: "COMPLETED" } });
	}
});
