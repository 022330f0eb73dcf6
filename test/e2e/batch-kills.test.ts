/** A batch while its service and its workers are killed repeatedly (D17, D57). */
import { expect, it } from "vitest";
import { campaign } from "../torture/batches/campaign.ts";
import { campaignSite } from "../torture/batches/site.ts";

it("D17, D57: each request is in the files once, and counters agree, after kill -9 of the service and of workers", {
	timeout: 120_000,
}, async (test) => {
	const site = await campaignSite({ workers: 2, env: { REQUEST_MS: "20", CONCURRENCY: "4" } });
	test.onTestFinished(() => site.end());
	const { violations, kills, ...counts } = await campaign({
		...{ site, lines: 300, everyMs: 1000, limitMs: 100_000, exactly: 4 },
	});
	process.stdout.write(`${JSON.stringify({ kills, ...counts })}\n`);
	expect(violations).toEqual([]);
	expect(kills).toEqual({ server: 2, worker: 2 });
});
