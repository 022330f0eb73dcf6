/** What a faulty operation costs the others of its batch in PostgreSQL. */
import { Client } from "pg";
import { expect, it } from "vitest";
import { systemClock } from "../../src/kernel/system/clock.ts";
import { openPostgres } from "../../src/kernel/store/postgres/open.ts";
import { postgres } from "../support/postgres.ts";
import { siteOf } from "./site.ts";

async function batchSite(onTestFinished: (end: () => Promise<void>) => void) {
	const { url } = await (await postgres()).createDatabase();
	const store = await openPostgres({ url, clock: systemClock });
	onTestFinished(() => store.close());
	const client = new Client(url);
	await client.connect();
	onTestFinished(() => client.end());
	const site = siteOf(store);
	const { id } = await site.add();
	return {
		site,
		taken: id,
		/** Transactions that have stored jobs. */
		async commits(): Promise<number> {
			const { rows } = await client.query("SELECT count(DISTINCT xmin::text)::int AS n FROM jobs");
			return (rows as [{ n: number }])[0].n;
		},
	};
}

it.for([0, 100, 255])(
	"D40: operation %i of 256 fails: the others share few transactions",
	async (at, { onTestFinished }) => {
		const { site, taken, commits } = await batchSite(onTestFinished);
		const before = await commits();
		const answers = await Promise.allSettled(
			Array.from({ length: 256 }, (_, n) => site.add(n === at ? { id: taken } : {})),
		);
		expect(answers.flatMap(({ status }, n) => (status === "rejected" ? [n] : []))).toEqual([at]);
		expect((await commits()) - before).toBeLessThanOrEqual(8);
		expect(await site.counts()).toMatchObject({ inQueue: 256 });
	},
);

it("D40: a text that PostgreSQL cannot hold never enters a batch", async ({ onTestFinished }) => {
	const { site, commits } = await batchSite(onTestFinished);
	const before = await commits();
	const answers = await Promise.allSettled([site.add(), site.add({ webhook: "http://example.org/\0" }), site.add()]);
	expect(answers).toMatchObject([
		{ status: "fulfilled" },
		{ reason: { message: "PostgreSQL cannot store U+0000, which submission.webhook contains." } },
		{ status: "fulfilled" },
	]);
	expect((await commits()) - before).toBe(1);
	await site.purge();
	const { id } = await site.running();
	await site.report(id, { on: "fail", error: "a\0b" });
	expect(await site.get(id)).toMatchObject({ error: "a\0b" });
});
