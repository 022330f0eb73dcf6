/** A batch of two servers that share a PostgreSQL, while the one that runs it is killed (D17, D34, D57). */
import { expect, it } from "vitest";
import { postgres } from "../support/postgres.ts";
import { campaign } from "../torture/batches/campaign.ts";
import { campaignSite } from "../torture/batches/site.ts";

it("D17, D34, D57: each request is in the files once, and counters agree, however often another server takes over", {
	timeout: 120_000,
}, async (test) => {
	const env = { REQUEST_MS: "20", CONCURRENCY: "4" };
	const site = await campaignSite({ databases: await postgres(), servers: 2, workers: 2, env });
	test.onTestFinished(() => site.end());
	const { violations, kills, ...counts } = await campaign({
		...{ site, lines: 300, everyMs: 500, limitMs: 100_000 },
		...{ exactly: 3, workers: false },
	});
	process.stdout.write(`${JSON.stringify({ kills, ...counts })}\n`);
	expect(violations).toEqual([]);
	expect(kills).toEqual({ server: 3, worker: 0 });
});
